"""How the connections to ZooKeeper are secured, by settings, system properties of Java and the login file.

    tls_options.py       the settings of TLS, and the properties in whose place they are
    tls_contexts.py      stores and versions for OpenSSL
    client_section.py    the login that the section Client describes
    protections.py       all of it, for a broker, its authorizer and the commands

Not obvious: zk/secured has what a session does with the result; secrets never leave it.
"""
