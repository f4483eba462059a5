"""One partition as this broker holds it: role, in-sync set, high watermark; what a fetch asks of it.

    configs.py         the settings of replication
    reads.py           what a fetch asks of a partition, and gets
    roles.py           leader, follower and the moves between roles
    progress.py        what a leader knows of one follower
    isr.py             the in-sync set, who joins and leaves it
    high_watermark.py  how far a partition is committed
    divergence.py      whether a reader's log parts from the leader's
    partition.py       one partition: its role, its log, its values
    hosted.py          which partitions this broker hosts
    throttle.py        how fast replication may go
    metrics.py         traffic, in-sync set changes, time-outs
"""
