"""Records on their way in: fetches under way, their sessions, and answers until they are handed out.

    fetch_plan.py      which partition is fetched from which broker
    fetch_sessions.py  only what changed is said (KIP-227)
    fetcher.py         a fetch under way to every broker
    fetched.py         one answer, decoded on demand
    held.py            answers that wait for the application
    records.py         what poll returns
    fetch_counts.py    bytes, records, lag and lead
"""
