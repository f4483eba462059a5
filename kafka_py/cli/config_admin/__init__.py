"""Parts of kafka-configs.sh: settings in ZooKeeper, quotas, SCRAM credentials.

    entities.py           entities, changes, the order of lists
    scram_credentials.py  SCRAM credentials as the command line gives them
    configs_quotas.py     --zookeeper for users, clients and ips
    client_quotas.py      --bootstrap-server for users, clients and ips
    configs_zookeeper.py  --zookeeper for topics and brokers
    config_documents.py   --output: JSON and YAML
    shown_arguments.py    the command line in errors, without passwords
"""
