"""Bearer tokens that a provider has signed: brokers check them with its public keys, clients get them from it.

    options.py        the settings
    places.py         reading what a URL or file has
    signed_tokens.py  keys, and what a signed token says
    key_sets.py       the present keys of a provider
    token_checks.py   a listener's check of signed tokens
    token_sources.py  a client's tokens, from a file or endpoint

Not obvious: signed_tokens.py imports joserfc of the extra `oauth`, so it is imported where a setting asks for it.
Clients look into their tokens without it, because they trust their provider.
"""
