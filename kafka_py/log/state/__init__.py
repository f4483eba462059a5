"""What a log knows besides records: leader epochs, producers, the topic id, and the files that keep them."""
