"""How much one connection may have outstanding, and how long it may keep the others of the event loop waiting.

Source: docs/architecture.md, "Concurrency".
"""

MOST_REQUESTS = 256
"""Unanswered requests of one connection."""
MOST_REQUEST_BYTES = 16 * 1024 * 1024
"""Their size; one request larger than that is still taken."""
MOST_RESPONSE_BYTES = 4 * 1024 * 1024
"""Memory held by responses that the peer does not fetch."""
TURN_REQUESTS = 64
TURN_S = 0.002
"""After so many requests of one connection, or so long, the others have their turn."""
LEAST_TURN_S = 0.000_25
"""Connections that have more to do than a turn share TURN_S, so that others wait for it once and not once for each of
them; but a turn is at least so long, since ending it costs some 20 microseconds. Where they are more than TURN_S has of
these, some have theirs in each turn of the loop."""


def turn_s(resuming: int) -> float:
    """How long a turn is while so many other connections wait for their next one."""
    return max(TURN_S / (1 + resuming), LEAST_TURN_S)
