"""What a leader does: appends, fetches, who waits for what, in-sync sets written to ZooKeeper."""
