"""What the web manager costs. Each is a command of its own.

history.py (its collector, at many partitions).
"""
