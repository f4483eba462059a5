"""One file per API, named as its message file; the dispatch table points to `handle(node, context, request)`."""
