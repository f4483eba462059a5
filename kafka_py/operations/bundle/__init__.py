"""A support archive: logs, settings without secrets, metrics, states and versions in one file of bounded size.

    redaction.py     secrets out of settings and of any text
    entries.py       the files of an archive, and its bounds
    documents.py     values as JSON
    local_files.py   logs and settings of this machine
    collect.py       asks the cluster, and puts everything together
    archive.py       writes the archive

Not obvious: every text passes the redaction, whatever it is, once by names of settings and once by the values of all
secrets that were seen in settings; what was left out or cut is listed in bundle.json.
"""
