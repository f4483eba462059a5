"""What is checked and rewritten before a batch is appended, and how far a producer's header is believed."""
