"""What a controller knows, and decisions over it without I/O: who leads, where replicas go, legal moves."""
