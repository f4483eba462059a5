"""Whole pipelines from a small file: bin/kafka-pipeline.sh config/pipeline-*.yaml (or .toml).

In reading order: spec.py (the file as checked values), run.py (the command), generic.py (source, SQL steps, sink),
decoding.py (values made columns, and what cannot be), to_parquet.py with ledger.py and folders.py (a topic into Parquet
files, offsets stored with the data), mirror.py (topics copied between clusters) with mirror_once.py (in transactions),
audit.py (counts of two places compared), standard_library.py (lines counted, for the quickstart), history.py with
report.py (lag and sizes over time, and their plot); stopping.py ends those that run forever.

Not obvious: `job:` in the file chooses; without it the pipeline is a generic one.
"""
