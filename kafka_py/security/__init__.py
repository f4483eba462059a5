"""Who a client is, and what it may do, as values and decisions: nothing here opens a socket or knows a request's way.

    acls/  access control lists: the authorizer and its plug-in interface
    sasl/  logins of clients at brokers, and of brokers among themselves
    tls/   stores, encrypted sessions, the principal of a certificate
"""
