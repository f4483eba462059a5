"""Bytes evened out over the log directories of each broker (JBOD), in throttled steps that can be resumed.

    model.py        directories and replicas of brokers, the request and the plan as values
    planner.py      makes a plan
    chosen_moves.py  a plan of moves that a user has chosen
    look_input.py   from a look at a cluster to the planner's values, and to where replicas are now
    documents.py    plans as text and as JSON documents
    plan_file.py    what is done, in a file
    settling.py     what has become of each replica of a plan
    execution.py    carries a plan out
    dir_tools.py    what it works with on a real cluster
"""
