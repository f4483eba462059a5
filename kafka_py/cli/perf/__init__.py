"""Commands that measure, and what they print."""
