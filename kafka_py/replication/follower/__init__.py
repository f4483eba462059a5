"""What a follower does: it fetches from the leader, cuts its log where the leader's epochs say so.

    truncation.py           where a follower cuts its log, decided
    fetch_state.py          what a fetcher knows of one partition
    fetch_session.py        what a follower says in its fetches (KIP-227)
    followed_partitions.py  which partitions are fetched, which wait for what
    following.py            what is done to the log
    leader_link.py          the connection to one leader
    partition_states.py     partitions fetched, delayed, or not fetched again
    leader_comparison.py    the leader asked where to cut and continue
    fetcher.py              the fetch loop of one leader
    fetcher_manager.py      all fetchers of a broker
    fetcher_metrics.py      rates, lag and failed partitions
"""
