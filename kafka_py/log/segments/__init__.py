"""One segment with its three indexes, all segments of a log, and the search in them by offset and by time."""
