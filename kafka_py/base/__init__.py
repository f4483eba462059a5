"""Words that every floor speaks; standard library only.

In reading order: ids.py (small frozen values), errors.py (the error table), clock.py and chance.py (time, randomness
and new uuids, handed in) with environment.py (both as one value), texts.py (containers in log lines, endpoints),
slices.py (a range of an open file), properties.py (Kafka's property files), options.py (engine of the setting tables),
meters.py (engine of the metric tables) with metric_rows.py (the kinds of metric), histograms.py and samples.py,
quota_rates.py (rates and tokens that quotas limit), plugins.py (a user's own classes), moves.py (engine of the state
tables), state_changes.py (the log of who leads what), timers.py and purgatory.py (everything that waits), exclusion.py
(one at a time per key), steps.py and turns.py (work that leaves the loop to others now and then), placement.py (where
the replicas of new partitions go), garbage.py (the collector looks at new objects in small pieces), supervision.py
(background work, and what becomes of its failures).
"""
