"""Logins by OpenID Connect: the Authorization Code flow with PKCE, state and nonce.

    settings.py       the section [oidc] of the settings file
    claims.py         claims to a user with a role
    flow_messages.py  URLs, forms and documents of the flow
    transactions.py   logins that were begun and not finished
    refusals.py       refused logins by address, for the audit log
    id_tokens.py      the check of ID tokens
    provider.py       requests to the provider
    logins.py         a login from its start to its session

Not obvious: provider.py and id_tokens.py import packages of the extra `oidc`, so logins.py is imported where the
section is given. Keys, their rotation and signatures are those of security/sasl/oauth, which brokers use as well.
"""
