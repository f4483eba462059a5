"""Pure checks: each takes an Examination and yields findings; it asks nobody and looks at no clock.

    connection.py       the way to the bootstrap servers
    certificates.py     certificates that expire soon
    addresses.py        advertised addresses
    controller.py       the controller, and whether brokers agree
    partitions.py       leaders, in-sync sets and their minimum
    factors.py          replication factors
    balance.py          skew of leaders and replicas, racks
    machines.py         directories, disks, descriptors, memory, clocks
    broker_settings.py  settings that differ or are dangerous
    releases.py         releases and inter.broker.protocol.version
    zookeeper.py        ZooKeeper servers
    client_settings.py  files of client settings
    all_checks.py       the table of them
"""
