"""The state of one partition on this broker: role, in-sync set, high watermark; the parameters and results of reads.

    configs.py         the settings of replication
    reads.py           parameters and results of a fetch
    roles.py           leader, follower and the moves between roles
    progress.py        a leader's state of one follower
    isr.py             the in-sync set, and who joins and leaves it
    high_watermark.py  the high watermark, computed
    divergence.py      whether a reader's log diverges from the leader's
    partition.py       one partition: its role, its log, its values
    hosted.py          which partitions this broker hosts
    throttle.py        replication quotas (KIP-73)
    metrics.py         traffic, in-sync set changes, time-outs
"""
