"""Stand-ins in memory: files that forget, scripted brokers and groups, logs and replicas without a network.

    inodes.py                  a file's content, and what a crash leaves
    files.py                   a disk that forgets what was not synced
    stored_logs.py             real logs on a disk in memory
    logs.py                    logs without files
    replicas.py                a replica manager over such logs
    copying.py                 replicas that copy without a network
    scripted_replicas.py       brokers that copy, as transcripts tell of them
    replica_transcripts.py     replicas of one partition, by commands, as text
    groups.py                  groups without a broker
    stored_groups.py           groups kept in a real log in memory
    scripted_group.py          a coordinator that answers as told
    group_transcripts.py       one group, decided by commands, as text
    offset_transcripts.py      what that group commits, as text
    transactions.py            a transaction coordinator without a broker
    transaction_transcripts.py  one transactional id, by commands, as text
    controllers.py             controllers over a ZooKeeper in memory
    controller_znodes.py       the znodes of a controller as values
    controller_transcripts.py  one controller, decided by commands, as text
    fake_answers.py            what pretend brokers answer, per API
    fake_groups.py             what pretend brokers answer about groups
    fake_transactions.py       what they answer transactional producers
    fake_cluster.py            pretend brokers on real sockets
    memory_wire.py             the same without sockets
    reassigning_cluster.py     a cluster that moves replicas, in memory
"""
