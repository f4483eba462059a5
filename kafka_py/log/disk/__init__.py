"""The seam to a disk: names, directories, open files, and work that is done beside the event loop.

    filenames.py        every name in a log directory, written and parsed
    files.py            the Files protocol, and the real disk
    directory.py        where the files of one log are
    handles.py          which files stay open
    background.py       blocking work off the event loop
    background_file.py  a small file replaced as a whole, again and again
    context.py          what all logs of one directory share
"""
