"""Java's ways of writing dates, durations, errors and options, for what scripts read of our commands."""
