"""What secures a session: TLS, the login, and the access lists of what it creates.

    access_lists.py  which znode is readable by whom
    digest_md5.py    the login with name and password
    logins.py        a login over a new connection
    tls_link.py      TLS over a connection, and its failures in words
    protection.py    all of it as one value

Not obvious: settings and stores are read in security/zookeeper; here are values only, and what kazoo's thread does.
"""
