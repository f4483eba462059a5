"""kafka-delegation-tokens.sh.

    delegation_tokens.py  the command

Not obvious: a token's HMAC is printed, as Apache Kafka's command does, so the output is a secret.
"""
