"""Which records a compaction keeps, and how one is made, in a process of its own where it is large."""
