"""State that is kept in a compacted topic, by the broker that leads the partition it falls into.

In reading order: runtime.py (decide, append, apply, answer; partitions come and go), loading.py (one partition is read
back, in turns), configs.py, metrics.py; groups/ is the consumer groups: membership and offsets;
transactions/ is the transactions of producers.

Not obvious: everything is synchronous on the broker's loop, with callbacks where an append has to be waited for.
Nothing here knows replicas, requests or ZooKeeper; broker/wiring/coordinators.py hands in an append and a log.
"""
