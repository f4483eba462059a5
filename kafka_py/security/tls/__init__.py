"""TLS for listeners, for the links between brokers, and for clients: stores, sessions, the principal of a certificate.

    der.py              four fields of a certificate
    key_costs.py        whether a key signs quickly
    names.py            distinguished names as text
    principal_rules.py  names of certificates to names of principals
    settings.py         the settings of one listener or client
    pem.py              keys and certificates as PEM
    java_stores.py      key stores in Java's own format
    stores.py           keys and trusted certificates, by the settings
    contexts.py         what OpenSSL is given
    changes.py          whether new stores may replace old ones
    listener_tls.py     one listener's sessions, while stores change
    client_tls.py       sessions of clients
    certificates.py     certificates for development

Not obvious: passwords and keys are fields without a repr; a key reaches OpenSSL through an anonymous file in memory;
the package `cryptography` is imported where a PKCS12 store is read or a certificate is made, and nowhere else.
"""
