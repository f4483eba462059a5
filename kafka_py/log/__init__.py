"""Files: the records of partitions on disk, byte for byte as Kafka 2.8 lays them out.

    model/              settings, answers and record formats, as values
    disk/               names, directories, open files, work beside the event loop
    validation/         what is checked and rewritten before an append
    segments/           one segment with its indexes, and all of a log
    state/              leader epochs, producers, topic id, and their files
    compaction/         what compaction keeps, and one compaction
    partition/          the log of one partition
    loading/            opening and closing logs and log directories
    log_registry.py     which logs there are, present and future ones
    log_removal.py      a log's directory renamed, and removed later
    dirtiness.py        how much of a log could be compacted now
    cleaner.py          which log is compacted next, and when
    timestamp_reads.py  largest timestamps of unread segments, for retention
    upkeep.py           periodic tasks over all logs
    descriptions.py     logs and directories as DescribeLogDirs answers
    future_logs.py      replicas that move to another log directory (KIP-113)
    log_manager.py      all logs of a broker
    metrics.py          sizes and offsets of logs, flushes, failed directories

Not obvious: a log belongs to the event loop. What blocks (syncs, removals, checkpoints) is captured into a job on the
loop, runs in a pool thread (background.py) and reports back on the loop; nothing else is ever touched by two threads.
Record bytes are written as received, except for the few header fields that a leader stamps.
"""
