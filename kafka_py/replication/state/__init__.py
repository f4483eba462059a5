"""One partition as this broker holds it: role, in-sync set, high watermark; what a fetch asks of it."""
