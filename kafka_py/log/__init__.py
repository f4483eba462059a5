"""Files: the records of partitions on disk, byte for byte as Kafka 2.8 lays them out.

In reading order: filenames.py (every name), files.py (the seam to a disk) with directory.py and handles.py (which
files are open), index_file.py, offset_index.py, time_index.py, txn_index.py, scanning.py (walks over batches),
segment.py (one .log file with its indexes), log_segments.py (all of a partition: find and read), epochs.py with
epoch_checkpoint.py, producer_state.py with producer_snapshots.py and producer_replay.py, answers.py (what a log
returns), validation.py (what is checked and rewritten before an append), background.py with background_file.py,
flushing.py, retention.py with retention_looks.py,
compaction.py with key_offsets.py (what compaction keeps), cleaning.py (one compaction) with
cleaning_process.py (in a process of its own), context.py, stored_log.py, cleanable_log.py and partition_log.py (one
partition); recovery.py with leftovers.py and overflow.py (opening a log, also after a crash); checkpoints.py,
meta_properties.py, partition_metadata.py; log_dir.py, offset_checkpoints.py (when the offset checkpoints are written),
loading.py, closing.py, descriptions.py, upkeep.py, dirtiness.py with cleaner.py (which log is compacted next),
future_logs.py (replicas that change directory) and log_dirs.py (all logs of a broker); configs.py with
format_versions.py, metrics.py.

Not obvious: a log belongs to the event loop. What blocks (syncs, removals, checkpoints) is captured into a job on the
loop, runs in a pool thread (background.py) and reports back on the loop; nothing else is ever touched by two threads.
Record bytes are written as they came, save the few header fields that a leader stamps.
"""
