"""The seam to a disk: names, directories, open files, and work that is done beside the event loop."""
