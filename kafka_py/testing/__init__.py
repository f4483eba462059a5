"""A world to test in: things that stand in for the outside, or start the real thing and stop it again.

In memory: zookeeper.py, files.py (forgets what was not synced), clock.py and virtual_time.py, fake_cluster.py (a
scripted broker on a real socket). Real processes: processes.py (by process id, on free ports), broker.py, apache.py
(Apache's own broker and tools). Nothing in the product imports this package.
"""
