"""Parts of other packages joined for one broker: replication, the coordinators, background work."""
