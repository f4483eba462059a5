"""Inputs that nobody meant: valid bytes with bytes changed, fed to everything that reads bytes of others.

    mutations.py     bytes changed, messages made, at random
    cases.py         one case, and what is found in it
    wire_cases.py    frames and messages
    log_cases.py     batches, compressed data, snapshots, indexes
    text_cases.py    property files, checkpoints, znodes
    broker_cases.py  a whole broker's dispatcher
    __main__.py      the long run

What is not among the errors that a reader promises is a finding, as is anything that takes very long.

    python -m kafka_py.testing.fuzz --inputs 1000000 --seed 1
"""
