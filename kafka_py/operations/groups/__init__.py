"""Consumer groups: whether they keep up, where a reset takes them, the commands that do the same.

    health.py     stuck, slow or well, from a window of commits
    resetting.py  where each scenario of a reset takes a group
    commands.py   arguments of kafka-consumer-groups.sh
"""
