"""Checks and changes of a batch before an append, and the trust in a producer's batch headers.

    header_trust.py  which batch headers are trusted unverified
    record_work.py   work on a batch's records before an append
    format_work.py   message sets of formats 0 and 1, and topics in them
    validation.py    checks and changes of a batch before an append
"""
