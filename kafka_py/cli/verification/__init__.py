"""Commands that check a cluster, and clients that system tests drive.

    json_events.py                   one JSON object per line
    verifiable_producer.py           kafka-verifiable-producer.sh
    verifiable_consumer.py           kafka-verifiable-consumer.sh
    transactional_message_copier.py  org.apache.kafka.tools.TransactionalMessageCopier
    replica_verification.py          kafka-replica-verification.sh
"""
