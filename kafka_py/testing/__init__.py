"""A world to test in: things that stand in for the outside, or start the real thing and stop it again.

For other projects: pytest_plugin.py (fixtures) and cluster.py (the same for any runner), see
docs/testing-with-kafka_py.md. They stand on real processes: processes.py (any command, ZooKeeper), broker.py (a broker
of ours), topics.py, guard.py (nothing outlives the tests), class_archive.py (why Java starts fast).

For kafka_py's own tests besides: apache.py and java_clients.py (Apache's own broker, tools and clients), wire_client.py
(any request, byte for byte); in memory zookeeper.py, files.py (forgets what was not synced), clock.py and
virtual_time.py, local_broker.py (a broker on the test's loop), fake_cluster.py (a scripted broker on a real socket),
scripted_group.py (a group coordinator without any), groups.py (ours without a broker), copying.py (replicas that copy
from each other without network).
Nothing in the product imports this package.
"""
