"""What decisions say to the log."""

from kafka_py.controller.decisions.notes import LogLevel, LogLine, LogLines


def test_a_note_names_the_module_that_has_it_to_say() -> None:
    error = ValueError("why")
    note = LogLines("here").error("%s is %d", "t", 3, error=error)
    assert note == LogLine("here", LogLevel.ERROR, "%s is %d", ("t", 3), error)
    assert str(note) == "t is 3"
    assert str(LogLines("here").info("100% sure")) == "100% sure"
