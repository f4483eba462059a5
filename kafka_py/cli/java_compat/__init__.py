"""Java's ways of writing dates, durations, errors and options, for what scripts read of our commands.

    java.py           where Java and ZooKeeper's jars are
    class_archive.py  why Java starts fast the second time
    java_dates.py     Java's date patterns
    java_times.py     moments and durations
    java_errors.py    errors under Java's exception names
    log4j.py          logging configured by log4j property files
    server_logs.py    the log files of a broker
"""
