"""Every code block of the pages says what it is: a command is run by a test, or its title says why not or by whom."""

import re

import pytest
from page_blocks import COMMANDS, DOCS, FENCE, RUN_ELSEWHERE, SHOWN, Block, blocks_of, commands_of, pages

from kafka_py.base.properties import parse_properties
from kafka_py.broker.settings.protections import AUTHORIZER_SETTINGS
from kafka_py.broker.settings.setting_names import row_of
from kafka_py.cli.config_check.file_kinds import KINDS
from kafka_py.testing.processes import ROOT

BLOCKS = [block for page in pages() for block in blocks_of(page)]
COMMAND = re.compile(r"(\$ )?(bin/|kafka-|python|pip|docker|kubectl|echo |curl |cat |export )")
INDENTED = re.compile(r"(?:^|\n)\n {4}\S")


def test_pages_that_are_run_elsewhere_have_commands_and_their_test() -> None:
    assert {page.name for page in pages() if commands_of(page)} >= set(RUN_ELSEWHERE)
    assert [test for test in RUN_ELSEWHERE.values() if not (ROOT / test).is_file()] == []


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.title], ids=lambda block: block.place)
def test_a_title_names_the_test_that_runs_the_block_or_says_why_none_does(block: Block) -> None:
    named = re.match(r"Run by (\S+?)(,| |$)", block.title)
    assert named or block.title.startswith("Not run: "), block.title
    for path in re.findall(r"\b(?:tests|bin)/\S+\.\w+", block.title):
        assert (ROOT / path).is_file(), path


def test_every_block_has_a_language_and_only_blocks_of_commands_have_commands() -> None:
    assert {block.place: block.language for block in BLOCKS if block.language not in (*COMMANDS, *SHOWN)} == {}
    assert [block.place for block in BLOCKS if block.language in SHOWN and COMMAND.match(block.code)] == []


def test_no_block_is_marked_by_its_indentation_alone() -> None:
    outside = {page: FENCE.sub("", page.read_text()) for page in pages()}
    assert [page.name for page, text in outside.items() if INDENTED.search(text)] == []


def test_the_settings_on_the_pages_exist() -> None:
    names = {
        f"{block.place}: {name}": name
        for block in BLOCKS
        if block.language == "properties"
        for name in parse_properties(block.code)
    }
    known = {name for table in KINDS.values() for name in table.ROWS} | set(AUTHORIZER_SETTINGS)
    strange = {place: name for place, name in names.items() if name not in known and row_of(name) is None}
    assert len(names) > 30
    assert [place for place, name in strange.items() if not name.startswith("config.providers")] == []


def test_pages_are_found() -> None:
    assert DOCS / "index.md" in pages() and len(BLOCKS) > 60
