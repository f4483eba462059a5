"""Which records a compaction keeps, and how a compaction runs; large ones run in a separate process.

    compaction.py        which records stay, which segments are merged
    key_offsets.py       the last offset of every key
    cleaning.py          one compaction of one log
    cleaning_process.py  large compactions in a separate process
"""
