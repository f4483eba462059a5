"""Bytes <-> messages; no I/O, no clock, no state.

In reading order: primitives.py (varints and lengths), schema.py (how a message is declared), messages/ (the
declarations, one file per API), apis.py (the table of APIs and their versions), compiler.py with encoding.py,
decoding.py and source.py (the code made from a declaration), elements.py (which messages are large), dismantling.py
(large messages are freed in turns), frames.py (headers and size prefixes), protocol_versions.py (which versions brokers
use among themselves), version_meanings.py (what a version of a request says besides its fields), fetch_epochs.py
(ids and epochs of fetch sessions), stored_records.py (keys and values of the brokers' own topics), __main__.py (prints
what is declared).

Not obvious: a class serves all versions, and a handler fills in what the newest one has; the encoder drops what an
older version lacks, and refuses where that would change the meaning. Record bytes stay where they are: slices of the
request's own buffer on the way in, file slices on the way out.
"""
