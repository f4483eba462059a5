"""What commands share: option parsing, settings of clients, progress, signals, the connection to ZooKeeper."""
