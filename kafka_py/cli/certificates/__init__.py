"""kafka-make-certificates.sh.

    make_certificates.py  the command

Not obvious: the authority is kept in the folder, so that a later run can add a broker or a client.
"""
