"""Fetching: Fetch requests, their sessions, and the fetched records until they are handed out.

    fetch_plan.py      which partition is fetched from which broker
    fetch_sessions.py  requests name only what changed (KIP-227)
    fetcher.py         sends a fetch to every broker, handles the responses
    fetched.py         the response of one partition, decoded on demand
    held.py            fetched records that wait for poll
    records.py         what poll returns
    fetch_counts.py    metrics: bytes, records, lag and lead
"""
