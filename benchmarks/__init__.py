"""How fast the broker is beside what Python can do at all. One command: `python -m benchmarks.run`.

In reading order: bare_loop.py (the limit), batches.py and protocol.py (requests encoded beforehand), load.py (replays
them), servers.py (starts and measures limit and broker), run.py (runs all, prints the table). By themselves:
replication.py, groups.py, offsets.py, transactions.py, idempotence.py, consumers.py, controller.py, pipeline.py,
limits/, storage/, security/, manager/.
"""
