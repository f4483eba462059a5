"""Custom policies for new topics: `create.topic.policy.class.name` (KIP-108).

The setting is the dotted path of a Python class, for example `mysite.policies.AtLeastTwoReplicas`. Knows nothing of
how topics are made. Source: docs/reference/controller.md, section 14; docs/reference/configs.tsv.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.plugins import make_plugin

SETTING = "create.topic.policy.class.name"


class PolicyViolation(KafkaError):
    """Raised by a policy to refuse a topic; the text is sent to the client."""

    def __init__(self, detail: str) -> None:
        super().__init__(ErrorCode.POLICY_VIOLATION, detail)


class RequestMetadata(NamedTuple):
    """The topic to be created: with either both counts or the assignment."""

    topic: str
    partitions: int | None
    replication_factor: int | None
    assignment: Mapping[int, Sequence[int]] | None
    configs: Mapping[str, str]


class CreateTopicPolicy(Protocol):
    """The interface of a policy; created without arguments, once per broker."""

    def configure(self, configs: Mapping[str, object]) -> None:
        """Called once with the broker's properties."""
        ...

    def validate(self, request: RequestMetadata) -> None:
        """Raises PolicyViolation to refuse the topic."""
        ...


def load_policy(path: str | None, configs: Mapping[str, object]) -> CreateTopicPolicy | None:
    """The configured policy, None when `path` is None. Raises ConfigError when there is no such class."""
    if not path:
        return None
    policy: CreateTopicPolicy = make_plugin(SETTING, path, ("configure", "validate"), configs)
    return policy
