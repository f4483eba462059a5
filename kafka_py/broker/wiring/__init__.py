"""Parts of other packages connected for one broker: replication, the coordinators, background work.

    background.py          blocking work in threads, counted
    server_environment.py  the environment: clock, chance, files, network, ZooKeeper
    broker_environment.py  the environment of a broker's parts
    zookeeper_sessions.py  the broker's session with ZooKeeper, and the authorizer's
    authority.py           the broker's authorizer
    replica_wiring.py      fetchers and in-sync sets of a broker
    coordinators.py        the coordinators of a broker, of groups and of transactions
    logins.py              users, and how connections are protected
    sasl.py                logins at a broker's listeners, and its own
    tls.py                 TLS of a broker's listeners
    tokens.py              delegation tokens, and the removal of expired ones
    topic_services.py      what a coordinator's topic needs of the broker
    marker_wiring.py       the way of transaction markers to the leaders of partitions
"""
