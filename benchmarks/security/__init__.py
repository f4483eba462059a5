"""What keeps clients out costs: authorization.py (ACLs), tls.py. Each is a command of its own."""
