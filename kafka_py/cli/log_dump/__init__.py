"""Parts of kafka-dump-log.sh: what is printed of logs, indexes and snapshots.

    dump_files.py    what is done with each file, by suffix
    dump_records.py  .log files
    dump_indexes.py  .index and .timeindex files
"""
