"""The web manager: pages and a JSON interface about clusters, through the asyncio clients (extra `manager`).

    settings.py  the settings file
    clusters.py  clusters and their clients
    services.py  the parts of a running manager
    submissions.py  a form that is sent twice counts once
    preflight.py  what is checked before the manager listens
    app.py       the ASGI application
    server.py    serves it
    examinations.py  examinations by the doctor, in the background
    bundle_jobs.py  support archives, in the background
    bundle_process.py  makes one of them, in a process
    throttle_keeper.py  throttles that are removed when moves are over
    execution_jobs.py  plans that the manager carries out
    rebalance_jobs.py  those for partitions
    directory_jobs.py  those for log directories
    history/     samples and events of clusters over time
    messages/    messages of topics
    identity/    users, sessions, roles, the audit log
    web/         how a page comes about
    pages/       the pages, one file per subject

Pages know all others but the application; what runs beside them does not know the web (a contract in setup.cfg).
"""
