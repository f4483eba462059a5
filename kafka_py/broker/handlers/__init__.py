"""One file per API, named as its message file; `handle(node, context, request)` is what the dispatch table points to."""
