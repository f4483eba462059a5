"""The log of one partition: appended to, read, flushed, cut off, kept by retention and compaction."""
