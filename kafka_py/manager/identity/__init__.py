"""Who uses the manager, what they may do, and what they did.

    roles.py           roles, and a user with one
    users.py           the users file, with hashed passwords
    sessions.py        sessions of browsers
    login_throttle.py  failed logins make the next one wait
    scrape_token.py    the token of programs that read the metrics
    audit.py           the log of changes and logins
    oidc/              logins by OpenID Connect
"""
