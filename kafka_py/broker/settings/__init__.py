"""A broker's settings: the table, those of topics, how they change while it runs and how they are shown.

    configs.py              the broker's whole table of settings
    security_configs.py     TLS, SASL, tokens, stored passwords
    java_classes.py         Java class names among the settings
    protections.py          settings that the broker refuses to run without
    setting_names.py        listener prefixes, where settings change, secrets
    scala_order.py          the order of Scala's hash tables
    live_config.py          the broker's settings in force
    topic_configs.py        the topics' settings in force
    config_changes.py       overrides read from ZooKeeper and applied
    alter_policy.py         a site's own rules (KIP-133)
    config_edits.py         what a change comes to, and whether allowed
    config_descriptions.py  settings as DescribeConfigs shows them
    loggers.py              loggers under Apache Kafka's names
"""
