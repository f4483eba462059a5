"""Parts of kafka-configs.sh: settings in ZooKeeper, quotas, SCRAM credentials."""
