"""Consumer groups: who is in one, what each member works on, and how far they have come.

In reading order: states.py (the five states), member.py and group.py (the values), answers.py (what members are told),
membership.py (the door: join, sync, heartbeat, leave).

Offsets: offsets.py (what a group has committed), commits.py (who may), expiry.py (what may go), records.py (the durable
form), replay.py (a partition read back), store.py (where groups are kept).
"""
