"""Parts of kafka-topics.sh: what is asked of brokers, what of ZooKeeper, how topics are described."""
