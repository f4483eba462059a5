"""Pages about plans that move replicas in batches: proposed, shown, carried out, watched, cancelled, resumed.

    executions.py         how far a plan is; stopped, resumed, cancelled
    rebalance.py          plans for the partitions of a cluster
    directories.py        the log directories of brokers, their replicas, and what moves between them
    directory_plans.py    plans for log directories, as they are asked for and shown
    directory_changes.py  such a plan carried out, with the command that does the same
"""
