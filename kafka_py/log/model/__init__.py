"""What all parts of a log share as values: its settings, what it answers, the record formats of versions.

    broker_options.py   the broker's settings of its logs
    configs.py          the settings of one topic
    format_versions.py  releases that message.format.version may name
    answers.py          what a log returns, and errors that carry more
"""
