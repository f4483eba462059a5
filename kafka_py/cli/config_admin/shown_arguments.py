"""The arguments of kafka-configs.sh as its error text repeats them: without passwords.

Apache Kafka's tool repeats all of them; what runs commands keeps their errors in its logs.
Source: docs/reference/tools.md, section 3; ConfigCommand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_py.base.options import HIDDEN

OPTION = "--add-config"


def shown_arguments(arguments: Sequence[str], added: Mapping[str, str]) -> str:
    """The command line. added: what its --add-config says; values that may be secret are hidden."""
    hidden = {name for name in added if _may_be_secret(name)}
    words = list(arguments)
    if hidden:
        shown = ",".join(f"{name}={HIDDEN if name in hidden else value}" for name, value in added.items())
        for place, word in enumerate(words):
            if place and words[place - 1] == OPTION:
                words[place] = shown
            elif word.startswith(f"{OPTION}="):
                words[place] = f"{OPTION}={shown}"
    return " ".join(words)


def _may_be_secret(name: str) -> bool:
    """SCRAM credentials, passwords of brokers, and what is in no table."""
    from kafka_py.broker.quotas.quota_keys import CLIENT_KEYS, IP_KEYS
    from kafka_py.broker.settings.setting_names import is_secret
    from kafka_py.log.model.configs import LogConfig

    return is_secret(name) and name not in LogConfig.ROWS and name not in CLIENT_KEYS and name not in IP_KEYS
