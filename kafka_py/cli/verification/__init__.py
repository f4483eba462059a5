"""Commands that check a cluster, and clients that system tests drive."""
