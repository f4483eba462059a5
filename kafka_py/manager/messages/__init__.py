"""Browsing messages: where to read, what to show, in bounded memory and time.

    message.py    a message as it is shown
    decoding/     bytes to fields, and what of them is masked
    matching/     filters: texts, patterns, JSON paths, expressions
    positions.py  where in each partition to read
    scanning.py   reads ranges of partitions within bounds
    browsing.py   one page of messages, merged by time

Not obvious: a record is decoded, then masked, then filtered, then cut. Nothing masked gets past the second step.
"""
