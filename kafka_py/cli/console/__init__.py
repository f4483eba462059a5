"""Records as text, in and out, for the console clients.

    line_reader.py          lines as records
    interruptible_input.py  standard input that a signal interrupts
    message_formatters.py   how records are printed
    internal_formatters.py  formatters of the brokers' own topics
    record_files.py         JSON lines and CSV, out and in again
    record_texts.py         keys and values as text
"""
