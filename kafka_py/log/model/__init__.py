"""Values that all parts of a log share: settings, results, record formats by version.

    broker_options.py   the broker's settings of its logs
    configs.py          the settings of one topic
    format_versions.py  releases that message.format.version may name
    answers.py          results of a log, and errors with more than a code
"""
