"""Replicas moved to other brokers: plans, what they move, and how they are carried out through the admin client.

    plans.py       plans and their JSON files
    replica_moves.py  what moves, and what throttles it
    generating.py  new places for the replicas of topics
    carrying.py    begins, watches, throttles and cancels moves
    kept_throttles.py  throttles that are removed when the moves are over
"""
