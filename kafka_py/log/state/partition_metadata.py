"""The `partition.metadata` file: the topic id of a partition's directory (KIP-516).

Source: docs/reference/log.md, section 2. Layout: `version: 0`, newline, `topic_id: <22 characters>`, nothing after it.
"""

from __future__ import annotations

import errno

from kafka_py.base.ids import ZERO_UUID, TopicId, uuid_from_text, uuid_to_text
from kafka_py.log.disk.files import Files


class CorruptPartitionMetadata(OSError):
    """The file is malformed; an I/O error, because its directory goes offline."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(errno.EIO, reason, path)


def read_topic_id(files: Files, path: str) -> TopicId | None:
    """The topic id on disk; None without a file. Raises CorruptPartitionMetadata, OSError."""
    try:
        text = files.read_bytes(path).decode("ascii", "replace")
    except FileNotFoundError:
        return None
    lines = [line.split(":", 1) for line in text.splitlines() if line.strip()]
    if len(lines) != 2 or any(len(line) != 2 for line in lines):
        raise CorruptPartitionMetadata(path, f"malformed partition metadata {text!r}")
    values = {key.strip(): value.strip() for key, value in lines}
    if values.get("version") != "0":
        raise CorruptPartitionMetadata(path, f"partition metadata version {values.get('version')!r} is not known")
    try:
        topic_id = uuid_from_text(values.get("topic_id", ""))
    except ValueError:
        raise CorruptPartitionMetadata(path, f"malformed topic id in {text!r}") from None
    if topic_id == ZERO_UUID:
        raise CorruptPartitionMetadata(path, "the topic id is all zero")
    return topic_id


def format_topic_id(topic_id: TopicId) -> bytes:
    """The file's content."""
    return f"version: 0\ntopic_id: {uuid_to_text(topic_id)}".encode()
