"""The server: one process that serves requests, holds partitions and may be the controller.

    settings/               the table, topics' settings, changes while it runs
    metadata/               what the broker knows of the cluster
    observe/                metrics, reports, request log
    wiring/                 replication and coordinators joined for one broker
    requests/               the path of a request, and what handlers share
    handlers/               one file per API
    registration.py         the broker's entry among the live ones
    controlled_shutdown.py  leaders moved away before the stop
    dynamic_listeners.py    listeners that change while it runs
    log_dir_failures.py     what follows when a log directory fails
    assembly.py             the parts made and joined
    server.py               start and stop

Not obvious: a handler is a plain function that answers at once, an `async def`, or one that answers later through its
context; dispatch makes a task only when a coroutine really waits.
"""
