"""What all parts of a log share as values: its settings, what it answers, the record formats of versions."""
