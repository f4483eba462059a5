"""One file per API with its request and response, and one per kind of data kept inside records or other messages.

A class serves all versions: since(n) marks what a version added. Fields stand in wire order; a class's parts stand
above it. To add a version, mark the new fields, raise `versions=` here and in apis.py, and add golden bytes in
tests/wire. Imported one by one, when an API is first used: import the file that you need, never all.
"""
