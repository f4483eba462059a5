"""Which records a compaction keeps, and how one is made, in a process of its own where it is large.

    compaction.py        which records stay, which segments are merged
    key_offsets.py       the last offset of every key
    cleaning.py          one compaction of one log
    cleaning_process.py  large compactions in a process of their own
"""
