"""Consumer groups: membership, rebalances, and committed offsets.

In reading order, the decisions (pure; `machine.handle(group, event, moment) -> Outcome`): states.py (the five states),
member.py and group.py (the values), requests.py (requests of members and their results), outcome.py (what follows from
an event), moment.py (time and settings), parked.py and sessions.py (parked requests, session time-outs), rebalancing.py
(the join phase), joining.py and static_members.py, syncing.py, leaving.py, machine.py (the entry point to all of
these).

What carries them out: context.py (its dependencies), driver.py (timers, responses, records), coordinator.py (the calls
of handlers), overview.py (describe, list, delete).

Offsets, the decisions (pure): offsets.py (the committed offsets of a group), commits.py (who may commit, and which
commits are pending), removal.py (expiry, deletion of offsets, and when a group is removed). What carries them out:
records.py (the stored format), replay.py (loads a partition), metadata_store.py (stores groups), offset_keeper.py (the
calls of handlers).
"""
