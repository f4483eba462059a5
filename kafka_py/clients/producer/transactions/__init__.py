"""Transactions of a producer: records and offsets that take effect together, or not at all (KIP-98).

In reading order:

    states.py                the states, and the moves between them
    treatments.py            a table: how each error is treated
    coordinator_requests.py  requests as values, and errors in responses
    manager.py               the state machine
    driver.py                sends the requests; the application waits here
    identity.py              sequences; the coordinator increments the epoch
    appends.py               accepts records only in a transaction
    scopes.py                transactions as `with` blocks

Not obvious: the application's threads only read the state, where a batch is opened; all else is on the event loop.
"""
