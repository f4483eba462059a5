"""Disk access: names, directories, open files, and blocking work off the event loop.

    filenames.py        every name in a log directory, written and parsed
    files.py            the Files protocol, and the real disk
    directory.py        the directory of one log
    handles.py          which files stay open
    background.py       blocking work off the event loop
    background_file.py  a small file that is often replaced as a whole
    context.py          what all logs of one directory share
"""
