"""The way of a request from its frame to its answer, and what handlers share."""
