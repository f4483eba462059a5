"""What this broker knows of the cluster, and who waits until it knows more."""
