"""How the connections to ZooKeeper are secured, by settings, system properties of Java and the login file.

    tls_options.py     the settings of TLS, or properties of Java
    tls_contexts.py    stores and versions for OpenSSL
    client_section.py  the login of the section Client
    kerberos_login.py  logins with Kerberos tickets
    protections.py     all of it, for brokers, authorizers and commands

Not obvious: zk/secured has what a session does with the result; secrets never leave it.
"""
