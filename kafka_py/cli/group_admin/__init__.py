"""Parts of kafka-consumer-groups.sh: options, descriptions, resets, offsets as CSV.

    consumer_groups_options.py  the option table and its rules
    group_description.py        what --describe shows
    group_resetting.py          what --reset-offsets asks for
    group_offsets_csv.py        offsets as CSV
"""
