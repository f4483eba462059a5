"""The follower's side: fetching from the leader, and truncation by the leader's epochs.

    states.py               the states of a followed partition
    truncation.py           where a follower truncates its log, decided
    reactions.py            how errors are handled, decided
    fetch_state.py          a fetcher's state of one partition
    fetch_session.py        a follower's fetch session (KIP-227)
    followed_partitions.py  the partitions of a fetcher by state
    following.py            appends to and truncates the log
    leader_link.py          the connection to one leader
    partition_states.py     moves partitions to their next state
    leader_comparison.py    asks the leader where to truncate and continue
    fetcher.py              the fetch loop of one leader
    fetcher_manager.py      all fetchers of a broker
    fetcher_metrics.py      rates, lag and failed partitions
"""
