"""How logs are opened, also after a crash, and closed; the files of a log directory as a whole."""
