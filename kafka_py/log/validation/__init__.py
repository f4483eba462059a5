"""What is checked and rewritten before a batch is appended, and how far a producer's header is believed.

    header_trust.py  how far a batch header is believed unread
    record_work.py   what must be done with a batch's records first
    validation.py    what is checked and rewritten before an append
"""
