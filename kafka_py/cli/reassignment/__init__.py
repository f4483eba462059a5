"""Parts of kafka-reassign-partitions.sh: plans, and how they are carried out."""
