"""A cluster on this machine, as `kafka-py up` makes it: one folder, a ZooKeeper server, brokers as real processes.

    layout.py       what the cluster is: its folders, ports and settings
    processes.py    processes known by id and start time
    state.py        which processes run, and one command at a time
    ports.py        ports that are free
    broker_view.py  what a broker says of its cluster
    security.py     users, certificates, and settings that follow
    scram_accounts.py  users in ZooKeeper before the first broker
    secured_socket.py  blocking connections with TLS and logins
    starting.py     everything at once, or nothing
    stopping.py     brokers first, ZooKeeper last
    rolling.py      one broker after the other

Not obvious: whoever starts the processes need not be their parent later: `down`, `status` and `roll` are commands of
their own, so all they know is in the folder, and a process counts only if its id and its start time both fit.
"""
