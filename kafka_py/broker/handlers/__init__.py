"""One file per API, named as its message file; the dispatch table points to `handle(node, context, request)`.

    records/  what producers, consumers and followers send
    groups/   what group members and their administrators send
    admin/    what administrators send, and clients ask first
    brokers/  what the controller and other brokers send
"""
