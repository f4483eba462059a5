"""What keeps clients out, and what it costs. Each is a command of its own.

authorization.py (ACLs), tls.py, failed_logins.py, live_fuzz.py (changed frames before, during and after a login; its
parts are in fuzzing/).
"""
