"""Who a client is, and what it may do, as values and decisions: nothing here opens a socket or knows a request's way.

    password_encoder.py   passwords as they are stored in ZooKeeper
    config_providers.py   values of settings that are kept elsewhere
    java_properties.py    system properties in KAFKA_OPTS
    principal_builder.py  an operator's class that says who a client is
    acls/                 access control lists: the authorizer and its plug-in interface
    tokens/               delegation tokens
    sasl/                 logins of clients at brokers, and of brokers among themselves
    tls/                  stores, encrypted sessions, the principal of a certificate
    zookeeper/            TLS and logins of the connections to ZooKeeper
"""
