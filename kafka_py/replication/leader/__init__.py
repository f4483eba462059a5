"""The leader's side: appends, fetches, parked requests, in-sync sets written to ZooKeeper.

    append_lines.py       appends that wait for work in a thread
    appends.py            produce requests, answered when they are replicated
    fetches.py            reads by consumers and followers
    down_conversions.py   stored records in the format of an old reader
    delayed.py            the operations that may be parked
    purgatories.py        the purgatories, and the checks after changes
    offset_queries.py     ListOffsets and OffsetForLeaderEpoch in one partition
    time_lookups.py       ListOffsets by timestamp without blocking the loop
    record_deletion.py    DeleteRecords
    replica_selection.py  the replica from which a consumer reads (KIP-392)
    isr_updates.py        writes in-sync sets to ZooKeeper
    replica_manager.py    all partitions of a broker
"""
