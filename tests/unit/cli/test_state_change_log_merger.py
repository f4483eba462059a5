"""kafka.tools.StateChangeLogMerger: several logs as one history, by date; what it prints is what Apache's prints."""

import re

import pytest

from kafka_py.cli.common.command import CommandFailed, UsageError
from kafka_py.cli.state_change_log_merger import main

FIRST = """\
[2021-01-01 10:00:00,000] INFO [t1,0] first (x)
[2021-01-01 10:00:02,000] TRACE [Broker id=1] about [t1, 1] x (state.change.logger)
no date [t1,0]
[2021-01-01 10:00:03,000] INFO nothing
"""
SECOND = """\
[2021-01-01 10:00:01,000] INFO [t1,0] second t1-0 (x)
[2021-01-01 10:00:01,500] INFO [t2,0] other
[2021-01-01 10:00:05,000] INFO partition t1-0
"""


@pytest.fixture
def logs(tmp_path):
    (tmp_path / "state-change.log").write_text(FIRST)
    (tmp_path / "state-change.log.1").write_text(SECOND)
    (tmp_path / "other.txt").write_text("[2021-01-01 10:00:01,000] INFO [t1,0] elsewhere\n")
    return tmp_path


def merged(capsys, *arguments):
    assert main(list(arguments)) == 0
    return [re.sub(r".*(INFO|TRACE) ", "", line) for line in capsys.readouterr().out.splitlines()]


ALL = ["[t1,0] first (x)", "[t1,0] second t1-0 (x)", "[t2,0] other",
       "[Broker id=1] about [t1, 1] x (state.change.logger)"]  # fmt: skip


def test_lines_come_by_date_from_all_files(logs, capsys):
    files = f"{logs}/state-change.log,{logs}/state-change.log.1"
    assert merged(capsys, "--logs", files) == ALL
    assert merged(capsys, "--logs-regex", f"{logs}/state-change.log.*") == ALL
    assert merged(capsys, "--logs-regex", f"{logs}/nothing.*") == []


def test_lines_are_chosen_by_topic_partition_and_time(logs, capsys):
    files = ("--logs", f"{logs}/state-change.log,{logs}/state-change.log.1")
    assert merged(capsys, *files, "--topic", "t1") == [ALL[0], ALL[1], ALL[3]]
    assert merged(capsys, *files, "--topic", "t1", "--partitions", "1,2") == [ALL[3]]
    times = ("--start-time", "2021-01-01 10:00:01,000", "--end-time", "2021-01-01 10:00:02,000")
    assert merged(capsys, *files, *times) == ALL[1:]


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (["--topic", "t"], UsageError, 'exactly one of the two options "[logs]" or "[logs-regex]"'),
        (["--logs", "a", "--logs-regex", "b"], UsageError, "exactly one of the two options"),
        (["--logs", "a", "--partitions", "1"], UsageError, 'The option "[topic]" needs to be provided an argument'),
        (["--logs", "a", "--topic", "t", "--partitions", "1,1"], CommandFailed, "contains repeated entries: 1"),
        (["--logs", "a", "--topic", "t", "--partitions", "x"], CommandFailed, "takes numbers"),
        (["--logs", "a", "--start-time", "x"], CommandFailed, 'Unparseable date: "x"'),
        (["--logs", "/nowhere"], CommandFailed, "/nowhere (No such file or directory)"),
        (["--logs-regex", "/nowhere/x"], CommandFailed, "No such file or directory"),
        (["--logs-regex", "/tmp/["], CommandFailed, "[ is not an expression"),
    ],
)
def test_what_cannot_be_meant(arguments, error, says):
    with pytest.raises(error, match=re.escape(says)):
        main(arguments)
