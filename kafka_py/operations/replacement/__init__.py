"""Brokers of Apache Kafka replaced by kafka_py's, one by one, and back: same directories, ids and addresses.

    plan_file.py    which commands stop and start each broker of either make
    progress.py     how far it is, as a file, and what a change of direction makes of it
    obstacles.py    why a broker must not be stopped now: pure
    replacement.py  the work: checks, commands, waits
"""
