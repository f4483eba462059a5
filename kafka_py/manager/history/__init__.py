"""What was observed of clusters over time: samples and a timeline of events, in one SQLite file.

    settings.py        intervals, and what is kept for how long
    metrics.py         the table of what is sampled
    columns.py         the values of a topic's partitions as bytes, and back
    resolutions.py     resolutions, and what is removed when space is short
    series.py          gaps, rates, reduction to so many points, trend
    observation.py     one look at a cluster, as a value
    sampling.py        the samples of an observation
    timeline.py        the events between two observations
    database.py        the SQLite file: schema, damaged files
    queries.py         what is asked of the history
    history_tables.py  rows written, read, rolled up and removed
    store.py           the same on one thread of its own
    observing.py       asks a cluster for an observation
    collector.py       observes one cluster at intervals
    service.py         the history of all clusters of a manager
    background.py      the same beside the pages, from the settings file

Not obvious: a sample equal to the one before is not written, except once per interval of the second resolution; a
metric that is written in every round tells a gap from an unchanged value.
"""
