"""Quotas of clients: who shares which budget, what it has used, and how long its clients are throttled.

    quota_keys.py      keys, types and entities of quotas
    precedence.py      the budget and the limit of a client
    sensors.py         one budget: its rate or its tokens, its throttle times
    manager.py         the budgets of one type of quota
    mutations.py       controller mutations of one request
    callback.py        plug-in in place of precedence.py
    client_quotas.py   all types of quota, and changes of limits
    stored_quotas.py   quotas in ZooKeeper, and filters of them
    broker_quotas.py   quotas read from ZooKeeper
    quota_metrics.py   metrics of budgets

Not obvious: nothing here waits or asks for the time; requests/throttling.py applies it to responses and connections.
The rates themselves are in base/quota_rates.py, for connections are limited by them as well (net/limits.py).
"""
