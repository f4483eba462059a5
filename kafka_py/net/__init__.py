"""Sockets: whole requests in, responses out in request order; and the client's side of the same.

In reading order: configs.py (the settings), endpoints.py (listeners as values: parsed, checked, advertised),
network.py (where sockets come from, the seam for a simulated network), transport.py (a non-blocking byte stream),
frames_in.py (bytes into whole frames) with memory.py (large frames without page faults), frames_out.py (bytes and file
slices out) with cold_reads.py (file data that is not in memory), connection.py with connection_services.py,
connection_bounds.py and long_polls.py (one client of the broker), principal.py (whom it speaks for) and
client_software.py (what it says it is), resets.py (connections that the peer has reset), limits.py (how many
connections there may be, and how fast) with address_rates.py (of one address), listener.py (accepts them), accepted/
(before they are read), secured/ (TLS and logins), served.py (one listener of a broker), socket_server.py (all of
them), event_loop/ (the loop, and how long work continues in one of its turns), metrics.py, scraping/ (the text of
metrics and its endpoint),
client.py (a connection to a broker) with connection_failures.py (how it ends) and broker_link.py (one that is opened
again after each failure, for the requests of brokers among themselves).

Not obvious: requests of one connection may overlap, but their responses leave in request order; buffers grow with
the bytes that have arrived, never by a size that a peer claims; sockets hang on `loop.add_reader`, without streams
or tasks.
"""
