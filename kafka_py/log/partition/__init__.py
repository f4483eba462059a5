"""The log of one partition: append, read, flush, truncation, retention, compaction.

    failures.py          whether the log can be used; handling of its errors
    log_files.py         the files of one log
    topic_id_file.py     the topic id of the directory
    flushing.py          flushes and the recovery point
    truncation.py        truncation to an offset, or restart at one
    retention.py         which segments are deleted
    log_compaction.py    jobs of compaction and their results
    lookups.py           search by time, aborted transactions, available bytes
    log_tail.py          writes at the log end, and rolls
    follower_appends.py  appends of fetched batches
    set_appends.py       a leader's appends that are not one batch of format 2
    partition_log.py     append, read and offsets: the interface of a log, made of the parts above
"""
