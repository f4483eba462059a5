"""Which messages are shown: patterns, paths into JSON documents, expressions, and the filters made of them.

    pattern_syntax.py  regular expressions, parsed into nodes
    patterns.py        searches with them, in linear time
    json_paths.py      values inside JSON documents by path
    expression_syntax.py  expressions, parsed into a tree
    expressions.py     expressions over one message
    filters.py         what a form asks for, as one predicate

Not obvious: nothing here calls `eval` or Python's `re` with what a user typed, and nothing takes more than linear time.
"""
