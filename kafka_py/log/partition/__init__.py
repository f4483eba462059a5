"""The log of one partition: appended to, read, flushed, cut off, kept by retention and compaction.

    failures.py          whether the log can be used; what an error means for it
    log_files.py         what is stored of one log, and its names
    topic_id_file.py     the topic id that its directory belongs to
    flushing.py          flushes: what to sync, what is safe afterwards
    truncation.py        a log is cut, or begun again at an offset
    retention.py         which old segments are deleted
    log_compaction.py    what a log does for its compaction
    lookups.py           the beginning of a time, aborted transactions, how much there is
    log_tail.py          writes at the end, and begins the next segment
    follower_appends.py  what a follower has fetched is appended
    partition_log.py     append, read and the offsets that follow: the log that others use, with the parts above
"""
