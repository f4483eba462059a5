"""What limits on clients cost, and how exact they are. Each is a command of its own.

quotas.py (their cost), quota_accuracy.py, connection_storm.py.
"""
