"""One file per command; the scripts in bin/ call them through run_class.py, which knows the classic class names.

command.py is what all share: option parsing by Kafka's rules, errors as one line. A command module has `parser()`,
`main(arguments) -> exit code` and `cli()`, which runs main as a process. Shared besides: connection_options.py (how the
admin client is told its cluster), client_properties.py (settings of producers and consumers), progress.py (how far a
long piece of work is, on a terminal), server_logs.py with log4j.py (a broker's log files), java_errors.py (errors under
the classic names), java_times.py (moments and durations), termination.py (signals that end a command).
consumer_groups.py is spread over consumer_groups_options.py, group_description.py, group_resetting.py and
group_offsets_csv.py. completion.py makes the scripts for bash and zsh from all option tables.

Not obvious: what a command needs besides its option table is imported where it is used, so --help comes at once.
"""
