"""One partition as this broker holds it: role, in-sync set, high watermark; what a fetch asks of it.

    configs.py    the settings of replication
    reads.py      what a fetch asks of a partition, and gets
    isr.py        the in-sync set as one value
    progress.py   what a leader knows of one follower
    partition.py  role, leader epoch, in-sync set, high watermark
    hosted.py     which partitions this broker hosts
    throttle.py   how fast replication may go
    metrics.py    traffic, in-sync set changes, time-outs
"""
