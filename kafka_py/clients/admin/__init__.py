"""The admin client: topics, settings and brokers, looked at and changed over the protocol.

In reading order: client.py (the two faces), core.py (controller, trying again), results.py (a value or an error per
item), topics.py, records.py, settings.py, brokers.py, replicas.py (leaders, reassignments), log_dirs.py, offsets.py
(of partitions), groups.py (one file per family of calls), resources.py (values of settings), group_descriptions.py
(values of groups), configs.py (the client's own settings).
"""
