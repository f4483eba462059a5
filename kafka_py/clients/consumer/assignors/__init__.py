"""Who of a group reads which partitions: computed by the group's leader, which is one of its consumers.

In reading order: assignor.py (what an assignor is, and what it is told), range.py, round_robin.py, balancing.py (the
balanced and sticky rules that the next two share), sticky.py, cooperative_sticky.py, chosen.py (from
partition.assignment.strategy to assignors), zookeeper_range.py (the formula of consumers before there were groups).
"""
