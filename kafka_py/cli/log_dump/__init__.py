"""Parts of kafka-dump-log.sh: what is printed of logs, indexes and snapshots."""
