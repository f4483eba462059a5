"""The parts of `python -m benchmarks.security.live_fuzz`: changed frames over the sockets of a running broker.

    scripts.py      what is sent over one connection, with other changes each time; how much of it the broker has read
    logins.py       scripts before a login and during one
    requests.py     scripts of a user who has logged in
    generator.py    many connections at a time, in a process of its own
    good_client.py  another user, whose waits are measured and whose records are read at the end
    target.py       the broker: its listeners, its users and what they may do, its log
"""
