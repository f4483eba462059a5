"""kafka-consumer-groups.sh and kafka-streams-application-reset.sh as a whole, against pretend brokers."""

from collections.abc import Iterator

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.cli import consumer_groups, streams_application_reset
from kafka_py.cli.common.command import UsageError
from kafka_py.testing.fakes.fake_cluster import FakeCluster
from kafka_py.testing.fakes.fake_groups import FakeGroup, FakeMember
from kafka_py.testing.local_broker import batch
from kafka_py.wire.apis import ApiKey

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
FIRST_MS = 1_600_000_000_000


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        made.create_topic("t", 2)
        made.create_topic("u")
        for number in range(2):
            for second in range(4 + number):
                made.log("t", number).append(batch(b"v", timestamp=FIRST_MS + 1000 * second))
        made.log("u").append(batch(b"a", b"b"))
        made.groups["live"] = FakeGroup([FakeMember("m-1", "c-1", None, {"t": [0, 1]})], {T0: (1, ""), U0: (2, "")}, 1)
        made.groups["idle"] = FakeGroup(offsets={T0: (1, ""), T1: (5, "")})
        yield made


@pytest.fixture
def say(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> object:
    """Runs the command; its exit code and the lines that it printed."""

    def play(arguments: str) -> tuple[int, list[str]]:
        code = consumer_groups.main(["--bootstrap-server", cluster.bootstrap_servers, *arguments.split()])
        return code, capsys.readouterr().out.splitlines()

    return play


def rows(lines, *columns):
    """The words of some columns of a table, without its header."""
    return [tuple(line.split()[number] for number in columns) for line in lines[2:]]


def test_lag_is_right_for_what_is_read_and_what_is_not(say):
    """S2-056, S2-109: lag per group and partition, latest offset - committed offset."""
    code, lines = say("--describe --group live")
    assert code == 0
    assert rows(lines, 1, 2, 3, 4, 5, 6) == [
        ("t", "0", "1", "4", "3", "m-1"), ("t", "1", "-", "5", "-", "m-1"), ("u", "0", "2", "2", "0", "-"),
    ]  # fmt: skip


def test_a_partition_without_leader_does_not_hide_the_others(say, cluster, capsys):
    cluster.log("t", 0).leader = -1
    _, lines = say("--describe --group idle")
    assert rows(lines, 2, 3, 4, 5) == [("0", "1", "-", "-"), ("1", "5", "5", "0")]


def test_all_groups_are_described_one_after_another(say):
    _, lines = say("--describe --all-groups")
    assert [line.split()[0] for line in lines if line] == ["GROUP", "idle", "idle", "GROUP", "live", "live", "live"]
    _, lines = say("--describe --all-groups --state")
    assert [line.split()[-2:] for line in lines if line.startswith(("idle", "live"))] == [["Empty", "0"],
                                                                                       ["Stable", "1"]]  # fmt: skip


def test_groups_are_listed_with_and_without_their_states(say):
    assert say("--list") == (0, ["idle", "live"])
    assert say("--list --state") == (0, ["GROUP           STATE", "idle            Empty", "live            Stable"])
    assert say("--list --state Stable") == (0, ["GROUP           STATE", "live            Stable"])


@pytest.mark.parametrize(
    ("scenario", "offsets"),
    [
        ("--to-earliest", [0, 0]),
        ("--to-latest", [4, 5]),
        ("--to-offset 2", [2, 2]),
        ("--to-offset 99", [4, 5]),
        ("--to-offset -1", [0, 0]),
        ("--shift-by -1", [0, 4]),
        ("--to-current", [1, 5]),
        ("--to-datetime 2020-09-13T12:26:41.500", [2, 2]),
        ("--to-datetime 2020-09-13T12:26:44.000", [4, 4]),
        ("--to-datetime 2030-01-01T00:00:00.000+02:00", [4, 5]),
        ("--by-duration P1D", [4, 5]),
        ("--from-file {plan}", [3, 1]),
    ],
)
def test_every_scenario_shows_where_it_goes_and_goes_there_when_told_to(say, cluster, tmp_path, scenario, offsets):
    plan = tmp_path / "plan.csv"
    plan.write_text("t,0,3\nt,1,1\n")
    filled = scenario.format(plan=plan)
    before = dict(cluster.groups["idle"].offsets)
    _, lines = say(f"--reset-offsets --group idle --topic t {filled} --dry-run")
    assert rows(lines, 0, 1, 2, 3) == [("idle", "t", "0", str(offsets[0])), ("idle", "t", "1", str(offsets[1]))]
    assert cluster.groups["idle"].offsets == before
    _, again = say(f"--reset-offsets --group idle --topic t {filled} --execute")
    assert again == lines
    assert [cluster.groups["idle"].offsets[each][0] for each in (T0, T1)] == offsets


def test_scopes(say):
    assert rows(say("--reset-offsets --group idle --topic t:1 --topic u --to-latest --dry-run")[1], 1, 2) == [
        ("t", "1"), ("u", "0"),
    ]  # fmt: skip
    _, lines = say("--reset-offsets --group idle --all-topics --to-latest --dry-run")
    assert rows(lines, 1, 2) == [("t", "0"), ("t", "1")]


def test_what_is_exported_can_be_taken_in_again(say, cluster, tmp_path):
    code, lines = say("--reset-offsets --all-groups --all-topics --to-current --export --dry-run")
    assert (code, lines) == (0, ["", "Error: Assignments can only be reset if the group 'live' is inactive, but the "
                                 "current state is Stable.", "idle,t,0,1", "idle,t,1,5", ""])  # fmt: skip
    plan = tmp_path / "plan.csv"
    plan.write_text("\n".join(lines[2:]))
    cluster.groups["idle"].offsets.clear()
    say(f"--reset-offsets --group idle --from-file {plan} --execute")
    assert cluster.groups["idle"].offsets == {T0: (1, ""), T1: (5, "")}


def test_a_shift_of_nothing_is_wrong_usage(say):
    with pytest.raises(UsageError, match="u-0 since there is no current committed offset"):
        say("--reset-offsets --group idle --topic u --shift-by 1 --dry-run")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--topic nowhere --to-latest", "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server"),
        ("--topic t:7 --to-latest", "org.apache.kafka.common.errors.LeaderNotAvailableException: There is no leader"),
        ("--topic t --to-datetime soon", "Error parsing timestamp. It does not contain a 'T'"),
        ("--topic t --by-duration 1h", "Text cannot be parsed to a Duration"),
        ("--from-file /nowhere.csv", "Unable to read file /nowhere.csv"),
    ],
)
def test_what_cannot_be_done_is_said_and_the_exit_code_stays_0(say, arguments, words):
    code, lines = say(f"--reset-offsets --group idle {arguments} --dry-run")
    assert (code, lines[0]) == (0, "")
    assert lines[1].startswith(f"Error: Executing consumer group command failed due to {words}")


def test_without_brokers_it_ends_after_its_time(capsys):
    assert consumer_groups.main(["--bootstrap-server", "127.0.0.1:1", "--list", "--timeout", "300"]) == 0
    assert "Executing consumer group command failed due to" in capsys.readouterr().out


def test_groups_are_deleted(say, cluster):
    code, lines = say("--delete --group idle --group live --group nobody")
    java = "java.util.concurrent.ExecutionException: org.apache.kafka.common.errors"
    assert (code, lines) == (0, [
        "", "Error: Deletion of some consumer groups failed:",
        f"* Group 'live' could not be deleted due to: {java}.GroupNotEmptyException: The group is not empty.",
        f"* Group 'nobody' could not be deleted due to: {java}.GroupIdNotFoundException: The group id does not exist.",
        "", "These consumer groups were deleted successfully: 'idle'",
    ])  # fmt: skip
    cluster.groups["live"].members.clear()
    assert say("--delete --all-groups")[1] == ["Deletion of requested consumer groups ('live') was successful."]
    assert say("--delete --all-groups")[1] == ["Deletion of requested consumer groups ('') was successful."]


def test_offsets_are_deleted(say, cluster):
    _, lines = say("--delete-offsets --group idle --topic t:1")
    assert lines[0] == "Request succeed for deleting offsets with topic t:1 group idle"
    assert rows(lines[1:], 0, 1, 2) == [("t", "1", "Successful")]
    assert cluster.groups["idle"].offsets == {T0: (1, "")}
    assert say("--delete-offsets --group live --topic t")[1][1] == (
        "Error: Encounter some partition level error, see the follow-up details:"
    )
    assert say("--delete-offsets --group nobody --topic nowhere")[1][1] == "Error: 'nobody' does not exist."
    cluster.fail(ApiKey.OFFSET_DELETE, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    assert say("--delete-offsets --group idle --topic t")[1][1] == "Error: Access to 'idle' is not authorized."


# ---- kafka-streams-application-reset.sh


@pytest.fixture
def reset(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> object:
    for topic in ("idle-store-changelog", "idle-x-repartition", "idle-out", "other-store-changelog",
                  "idle-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000007-topic"):  # fmt: skip
        cluster.create_topic(topic)

    def play(arguments: str) -> tuple[int, list[str], str]:
        code = streams_application_reset.main(["--bootstrap-servers", cluster.bootstrap_servers, *arguments.split()])
        said = capsys.readouterr()
        return code, said.out.splitlines(), said.err

    return play


def test_an_application_begins_anew(reset, cluster):
    dry = ["----Dry run displays the actions which will be performed when running Streams Reset Tool----"]
    said = [
        "Reset-offsets for input topics [t]", "Seek-to-end for intermediate topics [u]",
        "Following input topics offsets will be reset to (for consumer group idle)",
        "Topic: t Partition: 0 Offset: 0", "Topic: t Partition: 1 Offset: 0",
        "Following intermediate topics offsets will be reset to end (for consumer group idle)", "Topic: u", "Done.",
        "Deleting all internal/auto-created topics for application idle",
    ]  # fmt: skip
    internal = ["idle-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000007-topic", "idle-store-changelog",
                "idle-x-repartition"]  # fmt: skip
    arguments = "--application-id idle --input-topics t --intermediate-topics u"
    code, lines, _ = reset(f"{arguments} --dry-run")
    assert (code, lines) == (0, [*dry, *said, *(f"Topic: {topic}" for topic in internal), "Done."])
    assert cluster.groups["idle"].offsets[T0] == (1, "") and internal[0] in cluster.topic_ids
    assert reset(arguments)[:2] == (0, [*said, "Done."])
    assert cluster.groups["idle"].offsets == {T0: (0, ""), T1: (0, ""), U0: (2, "")}
    assert sorted(cluster.topic_ids) == ["idle-out", "other-store-changelog", "t", "u"]


@pytest.mark.parametrize(
    ("scenario", "offsets"),
    [
        ("--to-latest", ["4", "5"]),
        ("--to-offset 2", ["2", "2"]),
        ("--shift-by -1", ["0", "4"]),
        ("--to-datetime 2020-09-13T12:26:41.500", ["2", "2"]),
        ("--by-duration P1D", ["4", "5"]),
        ("--from-file {plan}", ["3", "1"]),
    ],
)
def test_where_input_topics_begin(reset, tmp_path, scenario, offsets):
    plan = tmp_path / "plan.csv"
    plan.write_text("t,0,3\nt,1,1\n")
    filled = scenario.format(plan=plan)
    code, lines, _ = reset(f"--application-id idle --input-topics t {filled} --dry-run")
    assert code == 0
    assert [line.split()[-1] for line in lines if line.startswith("Topic: t ")] == offsets


def test_a_shift_begins_at_the_end_where_nothing_is_committed(reset):
    lines = reset("--application-id idle --input-topics u --shift-by -1 --dry-run")[1]
    assert "Topic: u Partition: 0 Offset: 1" in lines


def test_topics_that_are_not_there_are_passed_over_with_exit_code_1(reset):
    code, lines, _ = reset("--application-id idle --input-topics t,no --intermediate-topics gone --dry-run")
    assert code == 1
    assert lines[3:7] == [
        "Following input topics are not found, skipping them", "Topic: no",
        "Following intermediate topics are not found, skipping them", "Topic:gone",
    ]  # fmt: skip
    assert reset("--application-id idle --dry-run")[1][1] == (
        "No input or intermediate topics specified. Skipping seek."
    )


def test_members_are_sent_away_only_by_force(reset, cluster):
    code, lines, errors = reset("--application-id live --input-topics t")
    assert (code, lines) == (1, [])
    assert "Consumer group 'live' is still active with 1 members" in errors and "--force" in errors
    assert reset("--application-id live --input-topics t --force")[:2][0] == 0
    assert cluster.groups["live"].members == []
    assert cluster.groups["live"].offsets[T1] == (0, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--input-topics t", r"Missing required option\(s\) \[application-id\]"),
        ("--application-id a --execute --dry-run", "Only one of --dry-run and --execute can be specified"),
        ("--application-id a --to-latest --shift-by 0", r'"\[to-latest\]" can\'t be used with option "\[shift-by\]"'),
    ],
)
def test_wrong_usage_of_the_reset(arguments, message):
    with pytest.raises(UsageError, match=message):
        streams_application_reset.main(arguments.split())


def test_a_plan_must_name_every_partition(reset, tmp_path):
    plan = tmp_path / "plan.csv"
    plan.write_text("t,0,3\n")
    code, _, errors = reset(f"--application-id idle --input-topics t --from-file {plan} --dry-run")
    assert code == 1 and "has no offset for t-1" in errors
