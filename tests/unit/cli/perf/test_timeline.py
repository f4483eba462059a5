"""Figures second by second, as lines and as a picture, and the progress on a terminal."""

import io

import pytest

from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.common.progress import Progress, duration
from kafka_py.cli.perf import timeline as module
from kafka_py.cli.perf.latencies import Latencies
from kafka_py.cli.perf.timeline import CSV_HEADER, MIB, Timeline, check_plot, percentiles_of, write_plot


def test_percentiles_are_samples_and_zero_without_any():
    assert percentiles_of(range(1000)) == [500, 950, 990, 999]
    assert percentiles_of([7]) == [7, 7, 7, 7]
    assert percentiles_of([]) == [0, 0, 0, 0]


def test_what_comes_is_put_into_seconds():
    heard = []
    timeline = Timeline(5000, heard.append)
    timeline.add(5200, 10, MIB, [1, 3], 9.0)
    timeline.add(5900, 10, MIB, [2], 4.0)
    assert heard == []
    timeline.add(6050, 20, 2 * MIB, [6], 6.0)
    timeline.add(6300, 5, MIB, [1], 1.0)
    timeline.finish(6550)
    assert heard == timeline.intervals
    first, last = heard
    assert (first.end_s, first.records, first.mib_per_s, first.average_ms, first.max_ms) == (1.0, 40, 4.0, 3.0, 9.0)
    assert (last.end_s, last.duration_s, last.records) == (1.55, 0.55, 5)
    assert last.records_per_s == pytest.approx(5 / 0.55)


def test_a_standstill_is_seconds_of_nothing():
    timeline = Timeline(0)
    timeline.add(100, 1, 10, [1], 1.0)
    timeline.add(3500, 1, 10, [3000], 3000.0)
    assert [one.records for one in timeline.intervals] == [2, 0, 0]
    assert timeline.intervals[1].percentiles_ms is None
    timeline.finish(3600)
    assert len(timeline.intervals) == 3


def test_an_interval_as_a_line_of_csv():
    timeline = Timeline(0)
    timeline.add(500, 1000, MIB // 2, [1, 2, 3, 4], 40.0)
    timeline.add(2000, 0, 0, [], 0.0)
    lines = [one.csv() for one in timeline.intervals]
    assert lines == ["1.000,1000,1000.0,0.5000,2.50,40.00,3,4,4,4", "2.000,0,0.0,0.0000,,,,,,"]
    assert {len(line.split(",")) for line in [CSV_HEADER, *lines]} == {10}


def test_latencies_feed_the_timeline_and_the_progress():
    now = [0.0]
    timeline, ticks = Timeline(0), []
    latencies = Latencies(100, lambda: now[0], None, timeline=timeline, on_tick=ticks.append)
    for _ in range(100):
        callback = latencies.callback(now[0], 100)
        now[0] += 30
        callback(None, None)
    latencies.finish()
    now[0] += 5000
    assert sum(one.records for one in timeline.intervals) == 100
    assert [one.max_ms for one in timeline.intervals] == [30, 30, 30]
    assert ticks == sorted(ticks)
    assert 10 < len(ticks) <= 15
    assert latencies.total_line().startswith("100 records sent, 33.333333 records/sec"), "the clock stops at the end"


def test_a_picture_needs_matplotlib_and_a_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "find_spec", lambda _name: None)
    with pytest.raises(CommandFailed, match=r"needs matplotlib; install it with: pip install 'kafka_py\[plot\]'"):
        check_plot("x.png")
    monkeypatch.setattr(module, "find_spec", lambda _name: object())
    check_plot(str(tmp_path / "x.png"))
    for path in (tmp_path, tmp_path / "gone" / "x.png"):
        with pytest.raises(CommandFailed, match="no folder to write to"):
            check_plot(str(path))


def test_a_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    timeline = Timeline(0)
    for second in range(1, 4):
        timeline.add(second * 1000, second * 100, MIB, [second], float(second))
    timeline.add(6000, 0, 0, [], 0.0)
    path = tmp_path / "x.png"
    write_plot(str(path), timeline.intervals, "t", "ms")
    write_plot(str(tmp_path / "empty.png"), [], "t", "ms")
    assert path.read_bytes().startswith(b"\x89PNG\r\n")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def progress(stream, total=1000):
    now = [0.0]
    return Progress(total, "records", stream=stream, now=lambda: now[0]), now


def test_progress_is_one_line_written_over():
    stream = Terminal()
    shown, now = progress(stream)
    shown.update(0)
    for quarter in range(1, 5):
        now[0] = quarter / 4
        shown.update(quarter * 250)
        now[0] += 0.1
        shown.update(quarter * 250 + 100)  # too soon to be shown
    shown.end()
    shown.end()
    assert stream.getvalue().split("\r\x1b[K") == [
        "",
        "  0 % 0 records, 0/s",
        " 25 % 250 records, 1,000/s, 1 s left",
        " 50 % 500 records, 1,000/s, 1 s left",
        " 75 % 750 records, 1,000/s, 0 s left",
        "100 % 1,000 records, 1,000/s",
        "",
    ]


def test_output_has_the_progress_out_of_its_way(capsys):
    stream = Terminal()
    shown, now = progress(stream, total=-1)
    now[0] = 1
    shown.update(5)
    assert stream.getvalue().endswith("5 records, 5/s")
    shown.print("a line")
    assert capsys.readouterr().out == "a line\n"
    assert stream.getvalue().endswith("\r\x1b[K")


def test_nobody_who_does_not_watch_gets_progress():
    stream = io.StringIO()
    shown, now = progress(stream)
    now[0] = 1
    shown.update(5)
    shown.end()
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("seconds", "text"), [(0, "0 s"), (59.6, "1:00 min"), (185, "3:05 min"), (7800, "2:10 h")])
def test_durations_are_for_people(seconds, text):
    assert duration(seconds) == text
