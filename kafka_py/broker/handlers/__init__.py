"""Request handlers: one file per API, named as its message file, with `handle(node, context, request)` for dispatch.

    records/  APIs of producers, consumers and followers
    groups/   APIs of group members and of group administration
    admin/    APIs of administrators, ApiVersions and Metadata
    tokens/   APIs of delegation tokens
    brokers/  APIs of the controller and other brokers
"""
