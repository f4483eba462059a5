"""Assignors: which member of a group reads which partitions. Run by the group's leader, which is one of the consumers.

    assignor.py            the interface of assignors
    range.py               ranges of each topic's partitions
    round_robin.py         all partitions, dealt out in turn
    balancing.py           the sticky algorithm, shared by the next two
    sticky.py              partitions stay where they were
    cooperative_sticky.py  the same; only partitions that move are revoked (KIP-429)
    chosen.py              partition.assignment.strategy -> assignors
    zookeeper_range.py     the formula of consumers that registered in ZooKeeper
"""
