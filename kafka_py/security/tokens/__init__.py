"""Delegation tokens: secrets with which programs log in as the user who had them made, for a limited time (KIP-48).

    delegation_tokens.py  one token, its times, who may do what
    token_index.py        tokens by id and HMAC, credentials of their logins
    token_keeper.py       the tokens of a cluster, in ZooKeeper

Not obvious: the HMAC of a token is not stored anywhere. Every broker computes it from the token's id and the secret
that all brokers share, and the SCRAM credentials from that, when a token is first used.
"""
