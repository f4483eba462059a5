"""Replication: the partitions of this broker, their roles, appends and fetches on leaders, fetching on followers.

    state/           the state of a partition on this broker
    leader/          appends, fetches, parked requests, in-sync sets
    follower/        fetching from a leader, and truncation
    stale_logs.py    directories that a deleted topic left behind
    role_orders.py   LeaderAndIsr and StopReplica, decided
    role_changes.py  LeaderAndIsr and StopReplica, carried out
    move_states.py   the states of a move between log directories
    mover.py         moves replicas between log directories

Not obvious: everything runs on the broker's one loop. state/ never awaits; follower/, mover.py, role_changes.py and
of leader/ the files appends.py, fetches.py, isr_updates.py and time_lookups.py do. A change of the in-sync set counts
when it is written; until then the high watermark waits for the larger of the two sets. A follower recognises late
responses by the identity of its fetch state, because a new leader epoch creates a new object.
"""
