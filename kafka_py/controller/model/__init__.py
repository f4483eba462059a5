"""The controller context, and decisions over it without I/O: leader elections, replica placement, legal moves.

    controller_context.py  the controller's state of the cluster, as one value
    elections.py           leader elections
    partition_states.py    a partition's states and legal moves
    replica_states.py      a replica's states and legal moves
"""
