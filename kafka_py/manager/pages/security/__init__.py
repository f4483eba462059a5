"""Pages about who may do what, and how much of it; and about transactions.

    scram_users.py   users with SCRAM credentials
    acls.py          what principals may do
    quotas.py        limits of users, clients and addresses
    tokens.py        delegation tokens
    transactions.py  transactions, open and hanging ones
    partial.py       parts of a page that a cluster refuses
"""
