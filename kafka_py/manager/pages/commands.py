"""The command that does the same as a change, for one cluster."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from kafka_py.manager.clusters import ManagedCluster

CONFIG_FILE = "client.properties"
"""Stands for a file with the settings of the cluster's clients, which may hold passwords."""


def command(cluster: ManagedCluster, script: str, *words: object) -> str:
    """A line for a shell; words with blanks or signs are quoted."""
    connection = ["--bootstrap-server", cluster.settings.bootstrap_servers]
    if cluster.settings.properties:
        connection += ["--admin.config" if "election" in script else "--command-config", CONFIG_FILE]
    return shlex.join([script, *connection, *map(str, words)])


def config_words(settings: Mapping[str, str]) -> list[str]:
    """Values of --add-config: lists in brackets, as kafka-configs.sh takes them."""
    return [f"{name}=[{value}]" if "," in value else f"{name}={value}" for name, value in settings.items()]
