"""Coordinators: state that is stored in a compacted topic, and owned by the leader of its partition.

In reading order: runtime.py (decide, append, apply, answer; partitions are loaded and unloaded), loading.py (reads one
partition, in turns), configs.py, metrics.py; groups/ is the consumer groups: membership and offsets;
transactions/ is the transactions of producers.

Not obvious: everything is synchronous on the broker's loop, with callbacks for the results of appends. Nothing here
knows replicas, requests or ZooKeeper; broker/wiring/coordinators.py supplies the append and the log.
"""
