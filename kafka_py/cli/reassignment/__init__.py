"""Parts of kafka-reassign-partitions.sh: plans, and how they are carried out.

    reassign_plan.py       the JSON files, and what moves
    reassign_admin.py      --bootstrap-server: through the brokers
    reassign_zookeeper.py  --zookeeper: a list for the controller
"""
