"""How logs are opened, also after a crash, and closed; the files of a log directory as a whole.

    log_dir.py             one log directory: lock, checkpoints, clean mark
    meta_properties.py     which broker and cluster a directory belongs to
    leftovers.py           what a crash may leave, tidied up
    overflow.py            segments too long for their indexes, split
    recovery.py            one log opened from its directory
    loading.py             all logs of one directory opened
    closing.py             all logs of one directory closed
    log_directories.py     all directories at the start of a broker
    placement.py           in which directory a new log is made
    offset_checkpoints.py  when the offset checkpoints are written
"""
