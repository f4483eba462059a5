"""The pages of the manager: models and handlers, one file per subject. Their templates are in web/templates.

    table.py     all routes, in the order of the menus
    login.py     logging in and out
    overview.py  all clusters
    brokers.py   the brokers of a cluster
"""
