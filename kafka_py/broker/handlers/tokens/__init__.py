"""Handlers of the APIs of delegation tokens (KIP-48).

    create_delegation_token.py    makes a token for the client's principal
    renew_delegation_token.py     puts off the end of a token
    expire_delegation_token.py    ends a token, now or later
    describe_delegation_token.py  the tokens that the client may see
    token_rules.py                who may ask at all

Not obvious: errors are answered here, not raised, because their responses repeat the principal or have times of -1.
"""
