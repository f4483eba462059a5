"""Consumer groups: who is in one, what each member works on, and how far they have come.

In reading order, what decides (pure; `machine.handle(group, event, moment) -> Outcome`): states.py (the five states),
member.py and group.py (the values), requests.py (what members ask for and are told), outcome.py (what
follows from an event), moment.py (time and settings), parked.py and sessions.py (who waits, who is alive),
rebalancing.py (rounds of joining), joining.py and static_members.py, syncing.py, leaving.py, machine.py (the door to
all of these).

What does it: context.py (what it needs), driver.py (timers, answers, records), coordinator.py (what handlers call),
overview.py (describe, list, delete).

Offsets, what decides (pure): offsets.py (what a group has committed), commits.py (who may, and what is pending),
removal.py (what was kept long enough, what else a group loses, and when it ends). What does it: records.py (the
durable form), replay.py (a partition read back), metadata_store.py (where groups are kept), offset_keeper.py (what
handlers call).
"""
