"""Consumer groups: who is in one, what each member works on, and how far they have come.

In reading order: states.py (the five states), member.py and group.py (the values), answers.py (what members are told),
membership.py (the door), context.py (what its parts share), rebalancing.py (rounds of joining), sessions.py (who is
alive), joining.py and static_members.py, syncing.py, leaving.py, overview.py (describe, list, delete).

Offsets: offsets.py (what a group has committed), commits.py (who may), expiry.py (what may go), records.py (the durable
form), replay.py (a partition read back), store.py (where groups are kept).
"""
