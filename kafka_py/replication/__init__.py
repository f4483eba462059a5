"""One partition on this broker: who leads it, who follows, what may be answered and when, and how it is copied.

    state/           a partition as this broker holds it
    leader/          appends, fetches, parked requests, in-sync sets
    follower/        fetching from a leader, and truncation
    stale_logs.py    directories that a deleted topic left behind
    role_orders.py   LeaderAndIsr and StopReplica, decided
    role_changes.py  LeaderAndIsr and StopReplica, done
    move_states.py   a move between log directories, its states
    mover.py         replicas moved between log directories

Not obvious: everything runs on the broker's one loop; only the (I/O) files await. A change of the in-sync set counts
when it is written; until then the larger of the two sets holds the high watermark. A follower's late answers are told
apart by the identity of what it followed when it asked: a new leader epoch is a new value.
"""
