"""Browsing messages: where to read, what to show, in bounded memory and time; export, live tail, producing.

    message.py    a message as it is shown
    decoding/     bytes to fields, and what of them is masked
    matching/     filters: texts, patterns, JSON paths, expressions
    positions.py  where in each partition to read
    scanning.py   reads ranges of partitions within bounds
    browsing.py   one page of messages, merged by time
    record_times.py  when records at certain offsets were written
    exports.py    messages as JSON lines and CSV
    tailing.py    new messages as server-sent events
    producing.py  a message from a form

Not obvious: a record is decoded, then masked, then filtered, then cut. Nothing masked gets past the second step.
"""
