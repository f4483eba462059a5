"""Ids and epochs of fetch sessions, as both sides of a Fetch count them (KIP-227).

Source: KIP-227; FetchMetadata.
"""

NO_SESSION = 0
"""The session id of a reader without one."""
INITIAL_EPOCH = 0
"""A full fetch that wants a new session."""
FINAL_EPOCH = -1
"""A full fetch without session; closes the one it names."""
MAX_EPOCH = (1 << 31) - 1


def next_epoch(epoch: int) -> int:
    """Epochs of incremental fetches go 1, 2, ... 2^31-1, 1."""
    return 1 if epoch == MAX_EPOCH else epoch + 1
