"""State of a log besides its records: leader epochs, producers, the topic id, and their files.

    checkpoints.py         the text format of checkpoint files
    epochs.py              where each leader epoch began (KIP-101)
    epoch_checkpoint.py    the leader epochs with their file
    producer_state.py      idempotent and transactional producers (KIP-98)
    producer_snapshots.py  the .snapshot files
    producer_replay.py     producer state rebuilt from snapshot and batches
    partition_metadata.py  partition.metadata: the topic id (KIP-516)
"""
