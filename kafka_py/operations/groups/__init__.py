"""Consumer groups: how far they lag, whether they keep up, where a reset takes them, the commands that do the same.

    lag.py        lag in records and in seconds
    health.py     stuck, slow or well, from a window of commits
    resetting.py  where each scenario of a reset takes a group
    commands.py   arguments of kafka-consumer-groups.sh
"""
