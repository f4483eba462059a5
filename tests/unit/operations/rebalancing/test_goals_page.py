"""docs/rebalancing.md lists the goals in their order of priority, and every option that it names exists."""

import re
from pathlib import Path

from kafka_py.cli.umbrella.rebalance import parser
from kafka_py.operations.rebalancing.model import Goal

PAGE = (Path(__file__).parents[4] / "docs" / "rebalancing.md").read_text()


def test_the_goals_are_listed_in_order():
    rows = re.findall(r"^\| `([\w-]+)` \| (yes|no) \|", PAGE, re.MULTILINE)
    assert rows == [(str(goal), "yes" if goal.is_hard else "no") for goal in Goal]


def test_every_option_of_the_page_exists():
    known = {option for action in parser()._actions for option in action.option_strings}
    assert set(re.findall(r"--[a-z][a-z-]+", PAGE)) <= known
