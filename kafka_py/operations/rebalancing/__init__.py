"""Plans that spread partitions over brokers, and their execution in throttled, resumable steps.

    model.py           the cluster, the request and the plan as values
    bands.py           the range of numbers that a goal wants
    placement.py       replicas and their counts while a plan is made
    hard_goals.py      removal, replication factor, racks, disks, demotion
    soft_moves.py      moves, and what they cost each goal
    replica_counts.py  evens out replicas
    leader_counts.py   evens out preferred leaders
    byte_loads.py      evens out bytes
    topic_spread.py    evens out the replicas of each topic
    violations.py      what goals want otherwise, by name
    planner.py         makes a plan
    cluster_input.py   from a look at a cluster to the planner's values
    summary.py         plans and progress as text
    documents.py       plans as JSON documents
    throttles.py       settings that throttle a set of moves
    throttling.py      sets them for a batch, restores what was set before
    batches.py         the steps of a plan
    plan_file.py       what is done, in a file
    other_users.py     what others have changed meanwhile
    carriers.py        reassignments by request, or through ZooKeeper
    progress.py        how far a run is
    run_tools.py       what a run works with, on a real cluster or in a test
    cancelling.py      undoes what a run has begun
    execution.py       carries a plan out
"""
