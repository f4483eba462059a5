"""What operators see of a broker: metrics, reports, the log of requests, the warnings of the start."""
