"""One partition on this broker: who leads it, who follows, what may be answered and when.

Reading order: isr.py (the in-sync set as one value), progress.py (what a leader knows of one follower), reads.py
(what a fetch asks of a partition and what comes back), partition.py (leader or follower role, high watermark),
delayed.py (when a parked produce or fetch may be answered), parked.py (who is woken when a partition moves),
replica_manager.py (all partitions of a broker: produce, fetch, offsets), record_deletion.py (DeleteRecords),
role_changes.py (LeaderAndIsr and StopReplica as the controller sends them).

Not obvious: everything runs on the broker's one loop; only the (I/O) files await. The follower's fetch loop is
reached through callbacks (`on_become_follower`), so nothing here assumes that this broker is alone.
"""
