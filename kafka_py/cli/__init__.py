"""One file per command; the scripts in bin/ call them through run_class.py, which knows the classic class names.

command.py is what all share: option parsing by Kafka's rules, errors as one line. A command module has `parser()`,
`main(arguments) -> exit code` and `cli()`, which runs main as a process.
"""
