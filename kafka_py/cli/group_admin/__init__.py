"""Parts of kafka-consumer-groups.sh: options, descriptions, resets, offsets as CSV."""
