"""The log of one partition: appended to, read, flushed, cut off, kept by retention and compaction.

    log_files.py      what is stored of one log, and its names
    flushing.py       one flush: what to sync, what is safe afterwards
    truncation.py     a log is cut, or begun again at an offset
    retention.py      which old segments are deleted
    stored_log.py     offsets and segments; roll, move, close
    cleanable_log.py  what a log does for its compaction
    partition_log.py  append, read, search: the log that others use
"""
