"""The pages of log directories without a cluster: what is shown, what cannot be done, and what is carried out."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ZERO_UUID, TopicPartition
from kafka_py.clients.admin.log_dirs import LogDirDescription, ReplicaInfo
from kafka_py.clients.metadata import Node, PartitionInfo, TopicInfo
from kafka_py.manager.directory_jobs import PART
from kafka_py.manager.pages.moves import directories, directory_plans
from kafka_py.manager.pages.moves.executions import Executions
from kafka_py.manager.settings import ClusterSettings
from kafka_py.manager.web.dispatch import CHANGED_SINCE
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, UnseenPart, ViewPart
from kafka_py.operations.directories.model import DirectoryMove, ReplicaId
from kafka_py.operations.directories.plan_file import DirectoriesState, write_directories
from kafka_py.operations.rebalancing.model import RebalanceRefused
from kafka_py.operations.rebalancing.plan_file import PlanStep, StepState
from kafka_py.operations.rebalancing.progress import RunProgress

PATH = "/clusters/test/directories"
MB = 1 << 20
SCRIPT = "<script>alert(1)</script>"
OFFLINE = LogDirDescription(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR), {})


def held(*sizes, first=0, is_future=False):
    return {TopicPartition("t", first + number): ReplicaInfo(size, 0, is_future) for number, size in enumerate(sizes)}


def look(log_dirs=None, unseen=()):
    """Broker 0 has two directories of the same size and one that is offline; broker 1 is down."""
    found = {
        "/a": LogDirDescription(None, held(40 * MB, 20 * MB, 20 * MB), 1000 * MB, 600 * MB),
        "/b": LogDirDescription(None, {}, 1000 * MB, 700 * MB), "/off": OFFLINE,
    }  # fmt: skip
    infos = tuple(PartitionInfo("t", number, 0, 1, (0, 1), (0,), ()) for number in range(4))
    return ClusterSnapshot(
        0, cluster_id="c", nodes={0: Node(0, "h", 1)}, topics={"t": TopicInfo("t", ZERO_UUID, False, infos)},
        log_dirs={0: found} if log_dirs is None else log_dirs, unseen=unseen,
    )  # fmt: skip


@pytest.fixture
def looks(monkeypatch):
    """The looks at the cluster: the first of the list as long as it is the only one."""
    prepared = [look()]

    async def seen(_cluster, *_parts, **_options):
        return prepared.pop(0) if len(prepared) > 1 else prepared[0]

    monkeypatch.setattr(directories, "seen", seen)
    monkeypatch.setattr(directory_plans, "seen", seen)
    return prepared


@pytest.fixture
def begun(monkeypatch):
    """The states of executions that were begun."""
    states = []
    monkeypatch.setattr(Executions, "start", lambda _self, _request, state: states.append(state))
    return states


def hidden(text, name):
    return [each.partition('"')[0] for each in text.split(f'name="{name}" value="')[1:]]


def interrupted_state():
    move = DirectoryMove(ReplicaId(TopicPartition("<b>", 0), 0), "/a", "/b", 5)
    return DirectoriesState("c", {move.replica: PlanStep(move)})


def test_directories_are_shown_with_their_disks_and_what_moves(played, looks):
    broker = looks[0].log_dirs[0]
    copies = held(10 * MB, first=1, is_future=True)
    looks[0] = look({0: {**broker, "/b": broker["/b"]._replace(replicas=copies)}})

    async def scene(manager):
        answer = (await manager.get(f"/api{PATH}")).json()
        first, second, third = answer["directories"]
        assert (first["path"], first["replicas"], first["size_bytes"], first["free_percent"]) == ("/a", 3, 80 * MB, 60)
        assert (first["total_bytes"], first["usable_bytes"], first["problem"]) == (1000 * MB, 600 * MB, "")
        assert (second["replicas"], second["arriving"], second["size_bytes"]) == (0, 1, 10 * MB)
        assert third["problem"].startswith("KAFKA_STORAGE_ERROR: ")
        assert (third["total_bytes"], third["free_percent"]) == (None, None)
        assert answer["moving"] == [
            {"replica": "t-1 on broker 0", "source": "/a", "target": "/b", "copied_bytes": 10 * MB,
             "size_bytes": 20 * MB, "percent": 50}
        ]  # fmt: skip
        assert answer["moving_total"] == 1
        assert answer["choices"] == ["0=/a", "0=/b"]
        assert [each["what"] for each in answer["problems"]] == ["log dirs of broker 1"]
        page = (await manager.get(PATH)).text
        for text in ("offline", "KAFKA_STORAGE_ERROR", "50 % of 20.0 MiB", "600.0 MiB (60 %)", "the broker is down"):
            assert text in page
        assert "No plan for log directories is being carried out." in page

    played(scene, allow_changes=True)


def test_a_copy_that_is_larger_than_its_source_or_whose_source_is_empty_is_whole(played, looks):
    copies = {**held(30, first=0, is_future=True), **held(0, 5, first=1, is_future=True)}
    looks[0] = look({0: {"/a": LogDirDescription(None, held(20, 0)), "/b": LogDirDescription(None, copies)}})

    async def scene(manager):
        rows = (await manager.get(f"/api{PATH}")).json()["moving"]
        assert [(row["source"], row["percent"]) for row in rows] == [("/a", 100), ("/a", 100), (None, 100)]

    played(scene)


def test_what_a_broker_does_not_tell_is_named_and_the_rest_is_shown(played, looks):
    unseen = (UnseenPart(ViewPart.LOG_DIRS, 1, "", ErrorCode.NETWORK_EXCEPTION, SCRIPT),)
    looks[0] = look(unseen=unseen)

    async def scene(manager):
        page = (await manager.get(f"{PATH}?plan=true")).text
        assert "log dirs of broker 1" in page
        assert "The sizes on broker 1 are not known" in page
        assert "Carry it out" in page
        assert SCRIPT not in page

    played(scene, allow_changes=True)


def test_bytes_are_evened_out_by_what_was_shown(played, looks, begun, tmp_path):
    async def scene(manager):
        plan = (await manager.get(f"/api{PATH}?plan=true&tolerance=0")).json()["plan"]
        assert (plan["replicas"], plan["moved_bytes"]) == (1, 40 * MB)
        assert plan["moves"] == [
            {"replica": "t-0 on broker 0", "before": "/a", "after": "/b", "size_bytes": 40 * MB}
        ]
        names = ("path", "bytes_before", "bytes_after", "is_online")
        loads = [tuple(row[name] for name in names) for row in plan["directories"]]
        assert loads == [("/a", 80 * MB, 40 * MB, True), ("/b", 0, 40 * MB, True), ("/off", 0, 0, False)]
        fields = {"tolerance": "0", "throttle": "5", "batch": "3"}
        shown = (await manager.submit(f"{PATH}/execute", **fields)).text
        assert begun == []
        assert "40.0 MiB are copied" in shown
        assert "3 replicas, 80.0 MiB" in shown and "2 replicas, 40.0 MiB" in shown
        command = "kafka-py rebalance --bootstrap-server localhost:1 --log-dirs all --tolerance 0 --batch-partitions 3"
        assert f"{command} --execute --throttle 5242880" in shown
        digest = hidden(shown, "shown")[0]
        done = await manager.submit(f"{PATH}/execute", step="apply", submission="1", shown=digest, **fields)
        assert (done.status_code, done.headers["location"]) == (303, PATH)
        [state] = begun
        assert (state.throttle, state.limits.partitions, state.cluster_id) == (5 * MB, 3, "c")
        assert state.pending == [DirectoryMove(ReplicaId(TopicPartition("t", 0), 0), "/a", "/b", 40 * MB)]
        entries = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
        assert "between log directories" in json.dumps(entries[-1])

    played(scene, allow_changes=True)


def test_brokers_are_chosen_and_no_throttle_is_warned_of(played, looks, begun):
    async def scene(manager):
        shown = (await manager.call(f"{PATH}/execute", brokers="0", dry_run=True)).json()
        assert "--log-dirs 0 --tolerance 10" in shown["command_line"]
        assert "--throttle" not in shown["command_line"]
        assert "Without a throttle copying may slow clients down." in shown["warnings"]
        throttled = (await manager.call(f"{PATH}/execute", throttle=1, dry_run=True)).json()
        assert not any("Without a throttle" in each for each in throttled["warnings"])
        assert begun == []

    played(scene, allow_changes=True)


def test_what_a_plan_does_not_reach_is_said_and_long_plans_are_cut(played, looks, begun):
    broker = looks[0].log_dirs[0]

    async def scene(manager):
        even = (await manager.call(f"{PATH}/execute", tolerance=0, dry_run=True)).json()
        assert not any("Not reached" in each for each in even["warnings"])
        looks[0] = look({0: {**broker, "/a": LogDirDescription(None, held(40 * MB, 30 * MB))}})
        uneven = (await manager.call(f"{PATH}/execute", tolerance=0, dry_run=True)).json()
        assert any(each.startswith("Not reached: 0=/") for each in uneven["warnings"])
        looks[0] = look({0: {**broker, "/a": LogDirDescription(None, held(*[5] * 203))}})
        fields = {"action": "drain", "directory": ["0=/a"]}
        effects = (await manager.call(f"{PATH}/execute", dry_run=True, **fields)).json()["effects"]
        assert (effects[-1]["what"], len(effects)) == ("and 3 others", 203)

    played(scene, allow_changes=True)


def test_a_directory_is_emptied(played, looks, begun):
    async def scene(manager):
        page = (await manager.get(f"{PATH}?plan=true&action=drain&directory=0%3D/a")).text
        assert "3 → 0" in page
        assert hidden(page, "directory") == ["0=/a"]
        shown = (await manager.call(f"{PATH}/execute", action="drain", directory=["0=/a"], dry_run=True)).json()
        assert "--drain-log-dirs 0=/a --tolerance 10" in shown["command_line"]
        made = await manager.call(f"{PATH}/execute", action="drain", directory=["0=/a"])
        assert "moves of 3 replicas have begun" in made.json()["message"]
        assert {move.target for move in begun[0].pending} == {"/b"}

    played(scene, allow_changes=True)


def test_chosen_replicas_are_moved_to_a_directory(played, looks, begun):
    async def scene(manager):
        page = (await manager.get(f"{PATH}/replicas?broker=0&path=/a")).text
        assert hidden(page, "replica") == ["t-0", "t-1", "t-2"]
        assert "<option>/b</option>" in page and "<option>/off</option>" not in page.split("To directory")[1]
        fields = {"action": "move", "broker": 0, "target": "/b", "replica": ["t-1", "t-2"]}
        shown = (await manager.call(f"{PATH}/execute", throttle=2, dry_run=True, **fields)).json()
        rows = json.loads(shown["command_line"].split("<<'END'\n")[1].split("\nEND")[0])["partitions"]
        assert [(row["partition"], row["replicas"], row["log_dirs"]) for row in rows] == [
            (1, [0, 1], ["/b", "any"]), (2, [0, 1], ["/b", "any"])
        ]  # fmt: skip
        assert "kafka-reassign-partitions.sh --bootstrap-server localhost:1 --execute" in shown["command_line"]
        assert "--replica-alter-log-dirs-throttle 2097152" in shown["command_line"]
        assert "40.0 MiB are copied between directories of the same broker." in shown["warnings"]
        assert (await manager.call(f"{PATH}/execute", **fields)).status_code == 200
        assert [str(move.replica) for move in begun[0].pending] == ["t-1 on broker 0", "t-2 on broker 0"]

    played(scene, allow_changes=True)


def test_a_plan_that_comes_to_something_else_is_shown_again(played, looks, begun):
    def with_third(path, is_online=True):
        """The directory /c is there as well, and has the replica t-1 if that is its path."""
        broker, replica = look().log_dirs[0], held(20 * MB, first=1)
        third = LogDirDescription(None, replica if path == "/c" else {}) if is_online else OFFLINE
        rest = held(40 * MB) if path == "/c" else {**held(40 * MB), **replica}
        return look({0: {"/a": LogDirDescription(None, rest), "/b": broker["/b"], "/c": third}})

    async def scene(manager):
        chosen = {"action": "move", "broker": "0", "target": "/b", "replica": "t-1"}
        lost, elsewhere = with_third("/a", is_online=False), with_third("/c")
        for fields, after in (({"action": "balance"}, lost), (chosen, lost), (chosen, elsewhere)):
            looks[:] = [with_third("/a")]
            digest = hidden((await manager.submit(f"{PATH}/execute", **fields)).text, "shown")[0]
            looks[:] = [after]
            again = await manager.submit(f"{PATH}/execute", step="apply", submission="1", shown=digest, **fields)
            assert CHANGED_SINCE in again.text and begun == []

    played(scene, allow_changes=True)


@pytest.mark.parametrize(
    ("fields", "status", "why"),
    [
        ({"action": "explode"}, 400, "action is one of"), ({"tolerance": "101"}, 400, "tolerance"),
        ({"brokers": "x"}, 400, "brokers are ids"), ({"brokers": "7"}, 400, "broker 7 are not known"),
        ({"action": "drain"}, 400, "at least one directory"),
        ({"action": "drain", "directory": "/a"}, 400, "0=/disk1"),
        ({"action": "drain", "directory": "0=/none"}, 400, "no log directory 0=/none"),
        ({"action": "drain", "directory": "0=/off"}, 400, "offline"),
        ({"action": "drain", "directory": "0=/b"}, 404, "Nothing has to change"),
        ({"action": "move", "broker": "0", "target": "/b"}, 400, "at least one replica"),
        ({"action": "move", "broker": "0", "target": "/b", "replica": "t"}, 400, "orders-0"),
        ({"action": "move", "broker": "0", "target": "/b", "replica": "t-9"}, 400, "no replica of t-9"),
        ({"action": "move", "broker": "0", "target": "/off", "replica": "t-0"}, 400, "offline"),
        ({"action": "move", "broker": "x", "target": "/b", "replica": "t-0"}, 400, "broker is a number"),
        ({"action": "move", "broker": "0", "replica": "t-0"}, 400, "target is missing"),
        ({"batch": "0"}, 400, "batch"), ({"throttle": "-1"}, 400, "throttle"), ({"throttle": f"{1 << 60}"}, 400, "thr"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(played, looks, begun, fields, status, why):
    async def scene(manager):
        refused = await manager.submit(f"{PATH}/execute", **fields)
        assert (refused.status_code, why in refused.text) == (status, True), refused.text
        assert begun == []

    played(scene, allow_changes=True)


def test_a_plan_that_cannot_be_made_is_told_on_the_form(played, looks):
    async def scene(manager):
        for query, why in (("brokers=x", "brokers are ids"), ("action=drain&directory=0%3D/off", "offline")):
            page = await manager.get(f"{PATH}?plan=true&{query}")
            assert (page.status_code, why in page.text) == (422, True)
            assert "/a</a>" in page.text
        for path in ("stop", "resume", "abandon"):
            assert (await manager.submit(f"{PATH}/{path}")).status_code == 404

    played(scene, allow_changes=True)


def test_nothing_begins_while_replicas_of_the_broker_move(played, looks, begun):
    broker = looks[0].log_dirs[0]
    looks[0] = look({0: {**broker, "/b": broker["/b"]._replace(replicas=held(MB, first=1, is_future=True))}})

    async def scene(manager):
        refused = await manager.submit(f"{PATH}/execute", tolerance="0")
        assert (refused.status_code, "1 replicas are being moved already" in refused.text) == (400, True)
        page = (await manager.get(f"{PATH}/replicas?broker=0")).text
        assert hidden(page, "replica") == ["t-0", "t-2"]
        assert "/a → /b" in page

    played(scene, allow_changes=True)


def test_what_moves_on_another_broker_is_no_reason_to_wait(played, looks, begun):
    other = {"/a": LogDirDescription(None, held(MB)), "/b": LogDirDescription(None, held(MB, is_future=True))}
    looks[0] = look({**look().log_dirs, 1: other})

    async def scene(manager):
        assert (await manager.call(f"{PATH}/execute", brokers="0", tolerance=0)).status_code == 200
        assert len(begun) == 1

    played(scene, allow_changes=True)


def test_replicas_of_a_broker_are_listed_the_largest_first(played, looks):
    names = held(5, 30, 10)
    second = {"/z": LogDirDescription(None, names)}
    first = {"/a": LogDirDescription(None, names), "/b": LogDirDescription(None, held(20, first=7))}
    looks[0] = look({0: first, 1: second})

    async def scene(manager):
        async def listed(query):
            found = (await manager.get(f"/api{PATH}/replicas?broker=0{query}")).json()
            return [row["partition"] for row in found["replicas"]]

        assert await listed("") == ["t-1", "t-7", "t-2", "t-0"]
        assert await listed("&path=/b") == ["t-7"]
        assert await listed("&search=-2") == ["t-2"]
        assert await listed("&size=1&page=2") == ["t-7"]
        assert (await manager.get(f"{PATH}/replicas?broker=5")).status_code == 404
        looks[0] = look({})
        silent = await manager.get(f"{PATH}/replicas?broker=0")
        assert (silent.status_code, "There is no replica" in silent.text) == (200, True)

    played(scene, allow_changes=True)


def test_readers_see_plans_and_can_begin_nothing(played, looks, begun, tmp_path):
    async def scene(manager):
        write_directories(tmp_path / PART / "test.json", interrupted_state())
        page = (await manager.get(f"{PATH}?plan=true")).text
        assert "Proposal" in page
        assert "Carry it out" not in page and "Resume" not in page
        assert hidden((await manager.get(f"{PATH}/replicas?broker=0")).text, "replica") == []
        for path in ("execute", "stop", "resume", "abandon"):
            assert (await manager.submit(f"{PATH}/{path}")).status_code == 403
        assert begun == []

    played(scene)


def test_a_cluster_that_is_read_only_is_not_changed(played, looks, begun):
    clusters = (ClusterSettings("test", "localhost:1", is_read_only=True),)

    async def scene(manager):
        assert (await manager.submit(f"{PATH}/execute")).status_code == 403
        assert begun == []

    played(scene, allow_changes=True, clusters=clusters)


def test_an_interrupted_execution_is_offered_to_be_resumed(played, looks, begun, tmp_path):
    async def scene(manager):
        state = interrupted_state()
        write_directories(tmp_path / PART / "test.json", state)
        page = (await manager.get(PATH)).text
        assert "1 replicas are left" in page
        shown = await manager.submit(f"{PATH}/resume")
        assert "1 of 1 left" in shown.text
        digest = hidden(shown.text, "shown")[0]
        done = await manager.submit(f"{PATH}/resume", step="apply", submission="1", shown=digest)
        assert (done.status_code, begun) == (303, [state])
        fragment = (await manager.get(f"{PATH}/progress")).text
        assert "<html" not in fragment and "1 replicas are left" in fragment
        state.brokers = {"0": {"rate": None}}
        write_directories(tmp_path / PART / "test.json", state)
        refused = await manager.submit(f"{PATH}/execute")
        assert (refused.status_code, "left throttles" in refused.text) == (400, True)

    played(scene, allow_changes=True)


def test_an_execution_that_has_left_only_throttles_is_offered_to_be_cancelled(played, looks, begun, tmp_path):
    state = interrupted_state()
    [step] = state.steps.values()
    step.state = StepState.DONE

    async def scene(manager):
        write_directories(tmp_path / PART / "test.json", state)
        page = (await manager.get(PATH)).text
        assert "Resume" not in page and "interrupted" not in page
        state.brokers = {"0": {"rate": None}}
        write_directories(tmp_path / PART / "test.json", state)
        page = (await manager.get(PATH)).text
        assert "0 replicas are left, and its throttles are set" in page
        assert f'action="{PATH}/resume"' in page and f'action="{PATH}/abandon"' in page
        assert (await manager.submit(f"{PATH}/abandon")).status_code == 200
        state.is_finished = True
        write_directories(tmp_path / PART / "test.json", state)
        assert "Resume" not in (await manager.get(PATH)).text

    played(scene, allow_changes=True)


@pytest.mark.parametrize("is_live", [True, False])
def test_a_throttle_that_could_not_be_removed_is_told_and_kept(played, looks, monkeypatch, tmp_path, is_live):
    state = interrupted_state()
    state.brokers = {"0": {"rate": None}}

    async def cancel(state, _place):
        if is_live:
            state.brokers = {}
        return 1

    async def scene(manager):
        jobs = manager.services.parts[PART]
        monkeypatch.setattr(jobs, "_kind", replace(jobs._kind, cancel=cancel))
        path = tmp_path / PART / "test.json"
        write_directories(path, state)
        message = (await manager.call(f"{PATH}/abandon")).json()["message"]
        assert ("throttles removed" in message, "broker 0 is still set" in message) == (is_live, not is_live)
        assert path.exists() is not is_live

    played(scene, allow_changes=True)


def test_no_execution_begins_over_one_that_has_just_left_throttles(played, looks, tmp_path):
    async def scene(manager):
        state = interrupted_state()
        state.brokers = {"0": {"rate": None}}
        write_directories(tmp_path / PART / "test.json", state)
        jobs = manager.services.parts[PART]
        with pytest.raises(RebalanceRefused, match="has left throttles"):
            jobs.start(manager.services.clusters.get("test"), interrupted_state())
        assert jobs.job("test") is None

    played(scene, allow_changes=True)


@pytest.mark.parametrize(
    ("progress", "percent"),
    [
        (RunProgress(1, 4, 0, 0, 1, 1), 25), (RunProgress(0, 0, 0, 0, 0, 0), 100),
        (RunProgress(3, 4, 10, 100, 1, 1), 10),
    ],
)  # fmt: skip
def test_progress_is_of_the_bytes_and_without_any_of_the_moves(played, looks, progress, percent):
    async def scene(manager):
        jobs = manager.services.parts[PART]
        jobs._jobs["test"] = SimpleNamespace(progress=progress, is_running=False, outcome="")
        assert (await manager.get(f"/api{PATH}/progress")).json()["percent"] == percent

    played(scene)


def test_a_form_without_the_token_changes_nothing(played, looks, begun):
    async def scene(manager):
        refused = await manager.client.post(f"{PATH}/execute", data={"step": "apply", "submission": "1"})
        assert (refused.status_code, begun) == (403, [])

    played(scene, allow_changes=True)
