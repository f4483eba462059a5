"""What is wrong with a property file, before anything is started with it: parts of `kafka-py check`.

    findings.py        one remark about a file
    file_kinds.py      whose settings a file has
    properties.py      unknown names, wrong values, settings without effect
    contradictions.py  values that are allowed, but not together
"""
