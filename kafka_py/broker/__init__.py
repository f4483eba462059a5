"""The server: one process that serves requests, holds partitions and may be the controller.

Reading order: server.py (wiring, start, stop), dispatch.py (the table from API to handler, authorization and
throttling class; errors become responses), requests.py (what a handler gets), handlers/ (one file per API),
metadata_cache.py (what this broker knows of the cluster), fetch_sessions.py (KIP-227), topic_configs.py and
config_changes.py (settings of topics and brokers, changed while running), refusals.py (an error as each API says it),
configs.py and metrics.py (the tables).

Not obvious: a handler is a plain function that answers at once, an `async def`, or one that answers later through its
context; dispatch makes a task only when a coroutine really waits.
"""
