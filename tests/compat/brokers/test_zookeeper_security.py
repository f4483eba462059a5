"""ZooKeeper with TLS and logins, below brokers of ours and Apache's: access lists znode by znode, tools both ways."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_py.security.zookeeper.tls_contexts import tls_context
from kafka_py.security.zookeeper.tls_options import tls_options
from kafka_py.testing.broker import AnyBroker, BrokerProcess
from kafka_py.testing.certificate_files import CertificateFiles
from kafka_py.testing.peers.apache import QUICK_JVM, ApacheBroker, Jars
from kafka_py.testing.processes import ROOT, ensemble_lines
from kafka_py.testing.secured_zookeeper import SecuredZookeeper, login_file
from kafka_py.testing.topics import create_topic
from kafka_py.testing.znodes import Znodes
from kafka_py.zk.secured.access_lists import CREATOR_ONLY, OPEN, access_list_of
from kafka_py.zk.secured.digest_md5 import DigestMd5
from kafka_py.zk.secured.protection import SessionProtection

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PASSWORD = "zookeeper-secret"
CREATOR = "sasl:broker:cdrwa"
READERS = "world:anyone:r"
EVERYONE = "world:anyone:cdrwa"
LOGGED_IN = SessionProtection(login=DigestMd5("broker", PASSWORD))
SETTINGS = {
    "zookeeper.set.acl": "true",
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:ANONYMOUS",
    "delegation.token.secret.key": "token-secret",
    "password.encoder.secret": "encoder-secret",
    "inter.broker.protocol.version": "2.6",
}


@pytest.fixture(scope="module")
def ensemble(apache_kafka: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredZookeeper]:
    folder = tmp_path_factory.mktemp("zookeeper")
    files = CertificateFiles(folder / "certificates")
    with SecuredZookeeper(folder, {"broker": PASSWORD}, files, apache_kafka.class_path) as server:
        yield server


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> str:
    """KAFKA_OPTS with the login of brokers."""
    return login_file(tmp_path_factory.mktemp("login") / "jaas.conf", "broker", PASSWORD)


@contextmanager
def running(kind: str, folder: Path, connect: str, options: str, **settings: str) -> Iterator[AnyBroker]:
    """A broker of ours or of Apache's."""
    wanted = {**SETTINGS, **{name.replace("__", "."): value for name, value in settings.items()}}
    broker: AnyBroker
    if kind == "ours":
        broker = BrokerProcess(folder, connect, settings=wanted)
        broker.environment["KAFKA_OPTS"] = options
    else:
        broker = ApacheBroker(folder, connect, settings=wanted, jvm=[*QUICK_JVM, *options.split()])
    try:
        yield broker.start(120)
    finally:
        broker.kill()


def ours(script: str, *words: str, options: str = "") -> subprocess.CompletedProcess[str]:
    """A script of bin/."""
    environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "KAFKA_OPTS": options}
    command = [str(ROOT / "bin" / script), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)


def apaches(jars: Jars, main_class: str, *words: str, options: str = "") -> subprocess.CompletedProcess[str]:
    """A command of Apache Kafka's."""
    command = jars.command(main_class, *words, jvm=[*QUICK_JVM, *options.split()])
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def use(broker: AnyBroker) -> None:
    """Has the broker create znodes of every kind."""
    create_topic([broker.bootstrap], "t", 2, timeout_s=60)
    server = ("--bootstrap-server", broker.bootstrap)
    for words in (
        ("--entity-type", "users", "--entity-name", "alice", "--add-config", "SCRAM-SHA-256=[password=p]"),
        ("--entity-type", "users", "--entity-name", "bob", "--add-config", "producer_byte_rate=1000"),
        ("--entity-type", "brokers", "--entity-default", "--add-config", "log.cleaner.backoff.ms=20000"),
        ("--entity-type", "topics", "--entity-name", "t", "--add-config", "retention.ms=1000000"),
    ):
        done = ours("kafka-configs.sh", *server, "--alter", *words)
        assert done.returncode == 0, done
    for kind in ("literal", "prefixed"):
        done = ours("kafka-acls.sh", *server, "--add", "--topic", "t", "--resource-pattern-type", kind,
                    "--allow-principal", "User:alice", "--operation", "Read")  # fmt: skip
        assert done.returncode == 0, done


def lists_below(connect: str) -> dict[str, list[str]]:
    """The access list of each znode, with what numbers differ left out."""
    with Znodes(connect, LOGGED_IN) as znodes:
        return {path: znodes.access(path) for path in znodes.tree()}


def expected(path: str, *, protected: bool = True, creator: str = CREATOR) -> list[str]:
    """The list of the table."""
    entries = access_list_of(path, protected=protected)
    if entries == OPEN:
        return [EVERYONE]
    return [creator] if entries == CREATOR_ONLY else sorted([creator, READERS])


def wrong(lists: dict[str, list[str]], *, protected: bool = True, creator: str = CREATOR) -> dict[str, list[str]]:
    """The znodes whose list is not that of the table."""
    return {path: entries for path, entries in lists.items() if entries != expected(
        path, protected=protected, creator=creator)}  # fmt: skip


def test_our_znodes_have_the_lists_of_apaches(
    ensemble: SecuredZookeeper, options: str, tmp_path: Path
) -> None:
    lists = {}
    for kind in ("ours", "apache"):
        connect = f"{ensemble.connect}/{kind}/cluster"
        with running(kind, tmp_path / kind, connect, options) as broker:
            use(broker)
            lists[kind] = lists_below(connect)
        assert wrong(lists[kind]) == {}, kind
    assert set(lists["ours"]) == set(lists["apache"])
    assert lists["ours"] == lists["apache"]
    assert lists["ours"]["/config/users/alice"] == [CREATOR]
    assert lists["ours"]["/controller"] == [CREATOR, READERS]
    with Znodes(ensemble.connect, LOGGED_IN) as znodes:
        assert znodes.access("/ours") == znodes.access("/apache") == [CREATOR, READERS]


MIGRATOR = "kafka.admin.ZkSecurityMigrator"


def test_either_migration_tool_secures_and_opens_the_znodes_of_either_broker(
    apache_kafka: Jars, ensemble: SecuredZookeeper, options: str, tmp_path: Path
) -> None:
    for kind in ("ours", "apache"):
        connect = f"{ensemble.connect}/migrated-{kind}"
        with running(kind, tmp_path / kind, connect, options, zookeeper__set__acl="false") as broker:
            use(broker)
            before = lists_below(connect)
            assert wrong(before, protected=False) == {}

            def migrate(tool: str, to: str, connect: str = connect) -> dict[str, list[str]]:
                words = ("--zookeeper.acl", to, "--zookeeper.connect", connect)
                done = (
                    ours("zookeeper-security-migration.sh", *words, options=options)
                    if tool == "ours"
                    else apaches(apache_kafka, MIGRATOR, *words, options=options)
                )
                assert done.returncode == 0, (tool, to, done)
                return lists_below(connect)

            by_ours = migrate("ours", "secure")
            assert wrong(migrate("ours", "unsecure"), protected=False) == {}
            by_apaches = migrate("apache", "secure")
            assert by_ours == by_apaches
            untouched = {path for path in by_ours if path.startswith(("/consumers", "/feature"))}
            assert set(wrong(by_ours)) == untouched - {"/consumers"}
            use_more = ours("kafka-topics.sh", "--bootstrap-server", broker.bootstrap, "--create", "--topic", "later")
            assert use_more.returncode == 0, use_more  # the broker is the creator of what is protected now
            assert set(migrate("apache", "unsecure")) >= set(before)


def test_who_has_not_logged_in_reads_all_but_secrets_and_writes_nothing(
    ensemble: SecuredZookeeper, options: str, tmp_path: Path
) -> None:
    connect = f"{ensemble.connect}/guarded"

    def shell(*words: str, options: str = "") -> str:
        done = ours("zookeeper-shell.sh", connect, *words, options=options)
        return "\n".join((done.stdout + done.stderr).splitlines()[4:])

    with running("ours", tmp_path / "broker", connect, options) as broker:
        use(broker)
        assert "alice" not in shell("ls", "/config/users")
        assert "Insufficient permission : /config/users/alice" in shell("get", "/config/users/alice")
        assert "Insufficient permission : /config/topics/t" in shell("set", "/config/topics/t", "{}")
        assert "Insufficient permission : /controller" in shell("delete", "/controller")
        assert '"partitions"' in shell("get", "/brokers/topics/t")
        assert "SCRAM-SHA-256" in shell("get", "/config/users/alice", options=options)
        assert "'sasl,'broker\n: cdrwa\n'world,'anyone\n: r" in shell("getAcl", "/config")
        refused = ours("kafka-configs.sh", "--zookeeper", connect, "--alter", "--entity-type", "topics",
                       "--entity-name", "t", "--add-config", "retention.ms=1")  # fmt: skip
        assert refused.returncode == 1
        assert "not permitted" in refused.stdout + refused.stderr


def test_commands_past_the_brokers_create_protected_znodes_with_tls_and_a_certificate(
    apache_kafka: Jars, ensemble: SecuredZookeeper, tmp_path: Path
) -> None:
    file = tmp_path / "tls.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in ensemble.tls_settings("broker").items()))
    creator = "x509:CN=broker:cdrwa"
    with Znodes(ensemble.connect, LOGGED_IN) as znodes:
        for name in ("ours", "apache"):
            znodes.set(f"/by-{name}", b"")
    for kind in ("ours", "apache"):
        connect = f"{ensemble.tls_connect}/by-{kind}"

        def run(script: str, main_class: str, *words: str, kind: str = kind) -> None:
            done = ours(script, *words) if kind == "ours" else apaches(apache_kafka, main_class, *words)
            assert done.returncode == 0, (kind, done)

        run("kafka-configs.sh", "kafka.admin.ConfigCommand", "--zookeeper", connect, "--zk-tls-config-file", str(file),
            "--alter", "--entity-type", "users", "--entity-name", "alice",
            "--add-config", "producer_byte_rate=1")  # fmt: skip
        run("kafka-acls.sh", "kafka.admin.AclCommand", "--authorizer-properties", f"zookeeper.connect={connect}",
            "--authorizer-properties", "zookeeper.set.acl=true", "--zk-tls-config-file", str(file), "--add", "--topic",
            "t", "--allow-principal", "User:alice")  # fmt: skip
        with Znodes(ensemble.tls_connect + f"/by-{kind}", certified(ensemble)) as znodes:
            lists = {path: znodes.access(path) for path in znodes.tree() if path != "/"}
        assert wrong(lists, creator=creator) == {}, kind
        assert "/config/users/alice" in lists
        assert "/kafka-acl/Topic/t" in lists


def certified(ensemble: SecuredZookeeper) -> SessionProtection:
    """A session with the certificate of a broker."""
    context = tls_context(tls_options(ensemble.tls_settings("broker"), {}))
    return SessionProtection(tls=context)


def test_a_mixed_cluster_over_tls_with_certificates_as_identities(
    ensemble: SecuredZookeeper, tmp_path: Path
) -> None:
    """The second broker writes what the first has created: both are CN=broker."""
    connect = f"{ensemble.tls_connect}/mixed"
    tls = {name.replace(".", "__"): value for name, value in ensemble.tls_settings("broker").items()}
    first = running("ours", tmp_path / "ours", connect, "", **tls)
    second = running("apache", tmp_path / "apache", connect, "", broker__id="1", **tls)
    with first as our_broker, second as their_broker:
        servers = [our_broker.bootstrap, their_broker.bootstrap]
        create_topic(servers, "both", 2, replication_factor=2, timeout_s=60)
        for broker in (our_broker, their_broker):
            done = ours("kafka-configs.sh", "--bootstrap-server", broker.bootstrap, "--alter", "--entity-type",
                        "topics", "--entity-name", "both", "--add-config", f"retention.ms={broker.port}")  # fmt: skip
            assert done.returncode == 0, done
        with Znodes(connect, certified(ensemble)) as znodes:
            lists = {path: znodes.access(path) for path in znodes.tree()}
        assert wrong(lists, creator="x509:CN=broker:cdrwa") == {}
        assert {"/brokers/ids/0", "/brokers/ids/1", "/brokers/topics/both/partitions/1/state"} <= set(lists)


def test_acls_may_be_kept_elsewhere_by_a_session_of_their_own(
    ensemble: SecuredZookeeper, options: str, tmp_path: Path
) -> None:
    connect, elsewhere = f"{ensemble.connect}/without-acls", "/acls-only"
    own = {f"authorizer.{name}": value for name, value in ensemble.tls_settings("broker").items()}
    own["authorizer.zookeeper.url"] = f"{ensemble.tls_connect}{elsewhere}"
    settings = {name.replace(".", "__"): value for name, value in own.items()}
    with running("ours", tmp_path, connect, options, **settings) as broker:
        done = ours("kafka-acls.sh", "--bootstrap-server", broker.bootstrap, "--add", "--topic", "t",
                    "--allow-principal", "User:alice")  # fmt: skip
        assert done.returncode == 0, done
    with Znodes(ensemble.connect, LOGGED_IN) as znodes:
        both = sorted([CREATOR, "x509:CN=broker:cdrwa", READERS])
        assert znodes.access(f"{elsewhere}/kafka-acl/Topic/t") == both
        assert not znodes.exists("/without-acls/kafka-acl")


def test_an_ensemble_with_all_of_it_loses_its_leader(apache_kafka: Jars, options: str, tmp_path: Path) -> None:
    """TLS, certificates, logins and protected znodes: the session of the broker moves to another member."""
    files = CertificateFiles(tmp_path / "certificates")
    lines = ensemble_lines(3)
    servers = [
        SecuredZookeeper(tmp_path / f"zookeeper-{number}", {"broker": PASSWORD}, files, apache_kafka.class_path,
                         number=number, members=lines)
        for number in (1, 2, 3)
    ]  # fmt: skip
    try:
        for server in servers:
            server.start()
        modes = [server.wait_serving() for server in servers]
        connect = f"{','.join(server.tls_connect for server in servers)}/kafka"
        tls = {name.replace(".", "__"): value for name, value in servers[0].tls_settings("broker").items()}
        with running("ours", tmp_path / "broker", connect, options, **tls) as broker:
            create_topic([broker.bootstrap], "before", 1, timeout_s=60)
            servers[modes.index("leader")].kill()
            create_topic([broker.bootstrap], "after", 1, timeout_s=90)
            assert broker.running
            left = next(server for server in servers if server.running)
            context = tls_context(tls_options(left.tls_settings("broker"), {}))
            with Znodes(f"{left.tls_connect}/kafka", SessionProtection(tls=context)) as znodes:
                both = sorted([CREATOR, "x509:CN=broker:cdrwa", READERS])
                assert znodes.access("/brokers/topics/after/partitions/0/state") == both
                assert znodes.access("/controller") == both
    finally:
        for server in servers:
            server.kill()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"zookeeper.ssl.keystore.password": "hush-wrong"}, "zookeeper.ssl.keystore.location: "),
        ({"zookeeper.ssl.truststore.location": "/none.p12"}, "ssl.truststore.location: cannot read /none.p12"),
        ({"zookeeper.ssl.protocol": "TLSv1.3"}, "(zookeeper.ssl.enabled.protocols)"),
        ({"zookeeper.ssl.crl.enable": "true"}, "zookeeper.ssl.crl.enable=true is not supported"),
        ({"zookeeper.clientCnxnSocket": ""}, "zookeeper.set.acl is true, but "),
    ],
)
def test_settings_of_tls_that_do_not_fit_end_the_start_with_one_line(
    ensemble: SecuredZookeeper, tmp_path: Path, changed: dict[str, str], says: str
) -> None:
    tls = ensemble.tls_settings("broker")
    settings = {**SETTINGS, **tls, "zookeeper.connection.timeout.ms": "3000", **changed}
    ends_with(BrokerProcess(tmp_path, f"{ensemble.tls_connect}/never", settings=settings), says)


@pytest.mark.parametrize(
    ("username", "password"), [("broker", "hush-wrong"), ("nobody", "hush-unknown")]
)
def test_a_login_that_is_refused_ends_the_start_with_one_line(
    ensemble: SecuredZookeeper, tmp_path: Path, username: str, password: str
) -> None:
    broker = BrokerProcess(tmp_path / "broker", f"{ensemble.connect}/never", settings=SETTINGS)
    broker.environment["KAFKA_OPTS"] = login_file(tmp_path / "jaas.conf", username, password)
    line = ends_with(broker, "the server refuses the login")
    assert "section Client of the login file" in line


def ends_with(broker: BrokerProcess, says: str) -> str:
    """The error with which its start ends, which has this text; nothing that it wrote has a password."""
    broker.launch()
    try:
        assert broker.wait(60) == 1
    finally:
        broker.kill()
    (line,) = [line for line in broker.output().splitlines() if line.startswith("Error: ")]
    assert says in line
    assert "hush" not in broker.output()
    return line
