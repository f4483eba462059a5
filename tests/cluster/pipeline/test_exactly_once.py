"""Topics written in transactions; more of it, on brokers of both makes, is in tests/compat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import exactly_once_scenes as scenes
import pytest

from .conftest import Topic


@pytest.mark.timeout(300)
def test_writes_are_whole_or_nothing(spark: Any, make_topic: Callable[..., Topic]) -> None:
    topic = make_topic(2)
    scenes.writes_are_whole_or_nothing(spark, topic.bootstrap, topic.name, 2)
