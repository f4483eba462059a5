"""Who of a group reads which partitions: computed by the group's leader, which is one of its consumers.

    assignor.py            what an assignor is, and what it is told
    range.py               ranges of each topic's partitions
    round_robin.py         all partitions in turn
    balancing.py           balanced and sticky rules, shared
    sticky.py              partitions stay where they were
    cooperative_sticky.py  the same, revoking only partitions that move (KIP-429)
    chosen.py              partition.assignment.strategy -> assignors
    zookeeper_range.py     the formula of consumers before there were groups
"""
