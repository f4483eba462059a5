"""The server: one process that serves requests, holds partitions and may be the controller.

    settings/               settings of broker and topics, and their changes
    metadata/               the metadata cache
    observe/                metrics, reports, request log
    quotas/                 quotas of clients
    wiring/                 replication and coordinators connected for one broker
    requests/               dispatch of requests, and what handlers share
    handlers/               one file per API
    registration.py         the broker's registration in ZooKeeper
    own_markers.py          markers of transactions for this broker itself
    controlled_shutdown.py  leaders moved away before shutdown
    dynamic_listeners.py    listeners that change at run time
    log_dir_failures.py     the reaction to a failed log directory
    assembly.py             creation and connection of the parts
    server.py               start and shutdown

Not obvious: a handler is a plain function that responds at once, an `async def`, or one that responds later through its
context; dispatch creates a task only when a coroutine really waits.
"""
