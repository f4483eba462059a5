"""What logs cost beyond appends and reads. Each is a command of its own.

conversion.py (between message formats), upkeep.py (recovery, compaction).
"""
