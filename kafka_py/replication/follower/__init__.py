"""What a follower does: it fetches from the leader, cuts its log where the leader's epochs say so.

    states.py               a followed partition's states and moves
    truncation.py           where a follower cuts its log, decided
    reactions.py            what follows from errors, decided
    fetch_state.py          what a fetcher knows of one partition
    fetch_session.py        what a follower says in its fetches (KIP-227)
    followed_partitions.py  the partitions of a fetcher by state
    following.py            what is done to the log
    leader_link.py          the connection to one leader
    partition_states.py     partitions moved to the state that follows
    leader_comparison.py    the leader asked where to cut and continue
    fetcher.py              the fetch loop of one leader
    fetcher_manager.py      all fetchers of a broker
    fetcher_metrics.py      rates, lag and failed partitions
"""
