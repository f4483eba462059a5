"""Parts of `kafka-py rebalance`: its options, and a run with progress that can be interrupted.

    rebalance_options.py  the option table, and the request that it means
    rebalance_runs.py     looks, plans and carries out
    log_dir_runs.py       the same for moves between log directories
"""
