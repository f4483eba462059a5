"""Inputs that nobody meant: valid bytes with bytes changed, fed to everything that reads bytes of others.

In reading order: mutations.py changes bytes and makes random messages; cases.py is one case, and what is found in it;
wire_cases.py, log_cases.py and text_cases.py feed the decoders; broker_cases.py a whole broker's dispatcher. What is
not among the errors that a reader promises is a finding, as is anything that takes very long.

    python -m kafka_py.testing.fuzz --inputs 1000000 --seed 1
"""
