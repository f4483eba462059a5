"""What a controller knows, and decisions over it without I/O: who leads, where replicas go, legal moves.

    controller_context.py  all that the controller knows, as one value
    elections.py           who leads a partition
    placement.py           where replicas of new partitions go
    partition_states.py    a partition's states and legal moves
    replica_states.py      a replica's states and legal moves
"""
