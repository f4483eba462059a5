"""What a leader does: appends, fetches, who waits for what, in-sync sets written to ZooKeeper.

    append_lines.py       appends that wait behind work in a thread
    appends.py            produce requests, answered when replicas have them
    fetches.py            reads by consumers and followers
    delayed.py            when a parked request may be answered
    purgatories.py        what is parked, and who is woken
    offset_queries.py     ListOffsets and OffsetForLeaderEpoch in one partition
    time_lookups.py       lookups by time without holding the loop
    record_deletion.py    DeleteRecords
    replica_selection.py  from which replica a consumer reads (KIP-392)
    isr_updates.py        in-sync sets written to ZooKeeper
    replica_manager.py    all partitions of a broker
"""
