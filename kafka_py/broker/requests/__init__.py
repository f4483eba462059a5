"""The way of a request from its frame to its answer, and what handlers share.

    node.py                 the broker as handlers see it
    request_context.py      what a handler gets besides the request
    authorization.py        who may do what
    transactions.py         what is said about transactions
    routes.py               the table: API -> handler, rule, quota class
    service.py              one API's handler and decoders
    large_requests.py       requests of many elements, decoded in turns
    error_responses.py      an error as each API says it
    item_errors.py          an item that fails alone
    offered_apis.py         what ApiVersions tells
    dispatch.py             a request from its frame to its answer
    large_produce.py        produce requests of very many partitions
    fetch_session.py        one fetch session (KIP-227)
    fetch_session_cache.py  all fetch sessions of a broker
    fetch_contexts.py       what one fetch reads and answers
    metadata_answers.py     Metadata responses, encoded once
    auto_creation.py        topics created because somebody asks
    producer_ids.py         producer ids in blocks from ZooKeeper
    group_requests.py       what requests about groups have in common
    config_writes.py        changed settings written to ZooKeeper
    client_quotas.py        quotas in ZooKeeper that match a filter
"""
