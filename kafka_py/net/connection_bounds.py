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
"""So many requests of one connection are handled in one turn of the loop at most, see event_loop/turns.py."""
