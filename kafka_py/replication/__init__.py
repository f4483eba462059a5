"""One partition on this broker: who leads it, who follows, what may be answered and when, and how it is copied.

The values: isr.py (the in-sync set), progress.py (what a leader knows of one follower), reads.py (what a fetch asks of
a partition and what comes back), truncation.py (where a follower cuts its log), replica_selection.py (from which
replica a consumer reads), throttle.py (how fast copying may go), follower_session.py (what a follower says in its
fetches). One partition: partition.py (role, in-sync set, high watermark), lookups.py (times, ends, epochs), delayed.py
(when a parked produce or fetch may be answered), parked.py (who is woken when a partition moves). All of a broker:
hosted.py, appends.py, fetches.py, replica_manager.py, record_deletion.py (DeleteRecords), role_changes.py (LeaderAndIsr
and StopReplica as the controller sends them), stale_logs.py (what a deleted topic left behind), isr_updates.py (in-sync
sets written to ZooKeeper). Following: fetch_state.py, followed_partitions.py (which of them are fetched, and which wait
for what), following.py (what is done to the log), leader_link.py (the way to a leader), fetcher.py (the loop),
fetchers.py (all loops). mover.py moves replicas between log directories. configs.py, metrics.py, fetcher_metrics.py.

Not obvious: everything runs on the broker's one loop; only the (I/O) files await. A change of the in-sync set counts
when it is written; until then the larger of the two sets holds the high watermark. A follower's late answers are told
apart by the identity of what it followed when it asked: a new leader epoch is a new value.
"""
