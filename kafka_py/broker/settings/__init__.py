"""A broker's settings: the tables of broker and topic settings, dynamic changes, and descriptions.

    configs.py              the table of all broker settings
    security_configs.py     TLS, SASL, tokens, stored passwords
    tracing_configs.py      traces of requests
    java_classes.py         Java class names among the settings
    protections.py          security settings that stop the start unless overridden
    setting_names.py        listener prefixes, dynamic settings, secrets
    scala_order.py          the order of Scala's hash tables
    live_config.py          the broker's current settings
    topic_configs.py        the topics' current settings
    dynamic_passwords.py    passwords among the dynamic settings
    config_changes.py       overrides read from ZooKeeper and applied
    alter_policy.py         plug-in policy for config changes (KIP-133)
    config_edits.py         changes of settings, computed and checked
    config_descriptions.py  settings in the form of DescribeConfigs
    loggers.py              loggers under Apache Kafka's names
"""
