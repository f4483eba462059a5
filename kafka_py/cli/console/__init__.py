"""Records as text, in and out, for the console clients."""
