"""The parts of `kafka-py top`.

    tables.py   what is shown, as rows of text, in an order; knows no terminal
    keys.py     what the keys do to the view
    screen.py   the terminal: draws with Rich, reads keys
"""
