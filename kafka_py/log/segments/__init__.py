"""One segment with its three indexes, all segments of a log, and the search in them by offset and by time.

    segment_file.py       a file of a segment, opened on use
    index_file.py         a sparse file of fixed-size entries
    offset_index.py       offset -> position
    time_index.py         timestamp -> offset
    txn_index.py          aborted transactions with their marker in the segment
    scanning.py           iteration over the batches of a file
    future_timestamps.py  timestamps ahead of the clock, verified in the records
    segment.py            one .log file with its indexes
    time_search.py        the first record at or after a time, in steps
    log_segments.py       all segments of a log as one sequence of offsets
"""
