"""Opening (with recovery) and closing of logs and log directories.

    log_dir.py             one log directory: lock, checkpoints, clean mark
    meta_properties.py     which broker and cluster a directory belongs to
    leftovers.py           files left by a crash, removed or completed
    overflow.py            segments too long for their indexes, split
    recovery.py            one log opened from its directory
    loading.py             all logs of one directory opened
    closing.py             all logs of one directory closed
    log_directories.py     all directories at the start of a broker
    placement.py           in which directory a new log is created
    offset_checkpoints.py  when the offset checkpoints are written
"""
