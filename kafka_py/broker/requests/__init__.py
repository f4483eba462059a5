"""Processing of a request from its frame to its response, and what handlers share.

    node.py                 the broker as handlers see it
    request_context.py      what a handler gets besides the request
    transactions.py         responses about transactions
    routes.py               the table: API -> handler, rule, quota class
    service.py              one API's handler and decoders
    large_requests.py       large requests, decoded in turns
    error_responses.py      error responses of each API
    item_errors.py          errors of single items
    offered_apis.py         APIs and versions for ApiVersions
    login_answers.py        responses to clients before their login
    dispatch.py             dispatch of requests to handlers
    large_produce.py        produce requests of very many partitions
    fetch_session.py        one fetch session (KIP-227)
    fetch_session_cache.py  all fetch sessions of a broker
    fetch_contexts.py       partitions read and returned by one fetch
    metadata_answers.py     Metadata responses, encoded once
    topic_admin.py          topics created, extended, marked for deletion
    auto_creation.py        automatic creation of topics
    producer_ids.py         producer ids in blocks from ZooKeeper
    acl_requests.py         ACLs and filters as requests have them
    group_requests.py       checks shared by requests about groups
    offset_commits.py       commits of offsets, plain or in a transaction
    config_writes.py        config changes written to ZooKeeper
    throttling.py           quotas applied to requests
    fetch_sizes.py          sizes of Fetch responses
"""
