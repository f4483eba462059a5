"""Connections that are encrypted, or whose client has to log in.

    tls_transport.py    an encrypted byte stream
    handshakes.py       how it begins, on either side
    hello.py            which messages of a client make short steps
    short_steps.py      runs them on the event loop, some in each turn
    stages.py           what comes before the first request
    unauthenticated.py  how many connections may be there
    client_security.py  the stages of a client

Not obvious: the cryptography of a handshake runs in a thread unless it is short, that of records on the event loop, in
bounded pieces; what logins are is not known here, security/ brings them.
"""
