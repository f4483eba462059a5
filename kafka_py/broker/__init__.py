"""The server: one process that serves requests, holds partitions and may be the controller.

Reading order: server.py (start, stop), assembly.py (wiring), registration.py and leaving.py (how it comes among the
live brokers and goes), node.py (the broker as handlers see it), dispatch.py (the table from API to handler,
authorization and throttling class; errors become responses), requests.py (what a handler gets), large_requests.py and
large_produce.py (requests of very many elements), refusals.py (an error
as each API says it), item_errors.py (an item that fails alone), handlers/ (one file per API), metadata_cache.py (what
this broker knows of the cluster),
fetch_sessions.py (KIP-227), replication.py (followers, in-sync sets, moves), topic_waits.py, election_waits.py and
auto_creation.py (topics that come and go, leaders that change), live_config.py, topic_configs.py and config_changes.py
(settings that change while it runs), config_edits.py, config_writes.py and alter_policy.py (how they are changed),
config_descriptions.py (as DescribeConfigs shows them), producer_ids.py, authorization.py, background.py, configs.py
(the table, with security_configs.py, java_classes.py, protections.py and setting_names.py).

What operators see: loggers.py (the classic names and levels of our loggers), request_log.py, startup_report.py,
metrics.py (what is counted), prometheus.py and metrics_http.py (/metrics), reporters.py and reporting.py (CSV,
console), observation.py (all of it started and stopped).

Not obvious: a handler is a plain function that answers at once, an `async def`, or one that answers later through its
context; dispatch makes a task only when a coroutine really waits.
"""
