"""Parts of other packages joined for one broker: replication, the coordinators, background work.

    background.py          blocking work in threads, counted
    server_environment.py  what comes from outside: time, chance, files, network, ZooKeeper
    broker_environment.py  what the parts are given
    replica_wiring.py      fetchers and in-sync sets of a broker
    coordinators.py        the group coordinators of a broker
    marker_wiring.py       the way of transaction markers to the leaders of partitions
"""
