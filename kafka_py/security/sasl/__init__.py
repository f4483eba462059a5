"""SASL: logins of clients at a broker, and of this process at other brokers.

    mechanisms.py         interfaces of mechanisms, and how exchanges end
    jaas.py               login entries in settings and files
    login_file.py         the login file of Java
    plain.py              PLAIN
    scram_credentials.py  SCRAM credentials, derived and stored
    scram_messages.py     the four messages of SCRAM
    scram.py              SCRAM-SHA-256 and SCRAM-SHA-512
    scram_users.py        users with SCRAM credentials
    oauth_tokens.py       bearer tokens; unsigned ones made and checked
    oauthbearer.py        OAUTHBEARER
    oauth/                tokens that a provider has signed
    callbacks.py          functions in place of Java callback handlers
    server_exchange.py    the broker's states of a login
    server_settings.py    what a listener asks of clients
    server_login.py       the login of one connection, and its session
    client_settings.py    how a client logs in, from its settings
    client_login.py       logging a connection in, and again
    kerberos_names.py     Kerberos principals as short names
    kerberos_settings.py  Kerberos in login entries and settings
    gssapi_exchange.py    GSSAPI, whatever the library
    kerberos_library.py   the package gssapi
    kerberos_tickets.py   a client's tickets
"""
