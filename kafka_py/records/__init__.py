"""Bytes <-> record batches; no I/O. Knows nothing of topics, files or sockets.

In reading order: batch.py (the v2 batch: header, checks, rewriting in place), record.py (what is inside, and the loop
that reads it), builder.py (grows a batch record by record), compression.py with lz4_frames.py and zstd_frames.py (four
codecs and their framing traps), control.py (commit and abort markers), legacy.py with legacy_records.py,
legacy_builder.py and legacy_times.py (formats 0 and 1: entries, what is in them, how they are written, how a time is
found), conversion.py (from one format to another), survey.py (what records come to, without decoding them),
filtering.py (a batch without some of its records), columns.py (whole batches as NumPy columns) and column_batches.py
(the way back), varints.py and crc32c.py (the pieces below), murmur2.py and java_hash.py (the two hashes that decide
placement).

Not obvious: base offset and leader epoch of a batch lie outside its checksum, so a leader assigns offsets by writing
twelve bytes and never reads the records. Every reader here trusts nothing: whatever is wrong with the bytes comes out
as CorruptBatch, and sizes found in the bytes are never allocated before they are checked.
"""
