"""Parts of kafka-topics.sh: what is asked of brokers, what of ZooKeeper, how topics are described.

    topic_requests.py     what a user asks, as one value
    topic_description.py  the lines of --describe
    topics_admin.py       --bootstrap-server: through the brokers
    topics_zookeeper.py   --zookeeper: past the brokers
"""
