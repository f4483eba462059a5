"""Who may do what, as values and decisions: nothing here opens a socket or knows a request's way.

    acls/  access control lists: the authorizer and its plug-in interface
"""
