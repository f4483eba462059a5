"""Known secrets go through brokers, tools and clients; then every file, answer, output and `repr` is searched for them.

Everything is logged at its finest level. Files that a user writes for brokers and clients have the secrets, of course:
`inputs` and the folder of stores are left out of the search.
"""

from __future__ import annotations

import base64
import contextlib
import io
import logging
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafka_py.base.errors import KafkaError
from kafka_py.base.properties import format_properties
from kafka_py.cli.local_cluster.security import ACLS, PLAIN, SCRAM_256, SCRAM_512, login_entry
from kafka_py.clients import Consumer, Producer, TopicPartition
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.configs import AdminOptions
from kafka_py.clients.admin.credentials import ScramPassword
from kafka_py.clients.admin.resources import ConfigResource, ConfigResourceType
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.environment import SYSTEM
from kafka_py.clients.errors import AuthenticationError
from kafka_py.clients.producer.configs import ProducerOptions
from kafka_py.clients.security import security_of, tls_settings
from kafka_py.security.tokens.delegation_tokens import DelegationToken
from kafka_py.testing import certificate_files
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.certificate_files import CertificateFiles
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.processes import ROOT, free_port, python_environment, wait_until

pytestmark = pytest.mark.timeout(300)

TIMEOUT_S = 60
ALICE, BOB, WRONG = "planted-alice-7Gd", "planted-bob-Kz2", "planted-wrong-9Qx"
NEW_256, NEW_512, NEW_API = "planted-new256-3Tv", "planted-new512-8Lm", "planted-newapi-4Rw"
ENCODER, TOKEN_KEY = "planted-encoder-1Hs", "planted-tokenkey-6Jb"
UNKNOWN, PROVIDED, MISSPELT = "planted-unknown-2Yc", "planted-provided-5Fn", "planted-misspelt-0Ue"
STORES = certificate_files.PASSWORD
EVERYTHING = """\
log4j.rootLogger=TRACE, stdout
log4j.logger.kafka=TRACE
log4j.logger.kafka.request.logger=TRACE
log4j.logger.kafka.authorizer.logger=TRACE
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


class Run(NamedTuple):
    """What a run has left. secrets: by name. folder: of the cluster. said: by what was run, answered or shown."""

    secrets: dict[str, str]
    folder: Path
    inputs: Path
    said: dict[str, str]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("planted")
    inputs = folder / "inputs"
    inputs.mkdir()
    (inputs / "provided.properties").write_text(f"token={PROVIDED}\n")
    settings: dict[str, str | int | float | bool] = {
        **ACLS,
        "password.encoder.secret": ENCODER,
        "delegation.token.master.key": TOKEN_KEY,
        "com.example.vault.token": UNKNOWN,
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "com.example.provided": f"${{file:{inputs / 'provided.properties'}:token}}",
        "metrics.http.port": 0,
    }
    users = {"alice": ALICE, "bob": BOB}
    with KafkaCluster(2, security="SASL_SSL", settings=settings, users=users, folder=folder / "cluster") as cluster:
        assert cluster.security is not None
        restart_with_more(cluster, CertificateFiles(inputs / "stores"), inputs)
        planted = {
            "alice": ALICE, "bob": BOB, "wrong": WRONG, "new 256": NEW_256, "new 512": NEW_512, "new by API": NEW_API,
            "encoder": ENCODER, "token key": TOKEN_KEY, "unknown": UNKNOWN, "provided": PROVIDED, "misspelt": MISSPELT,
            "stores": STORES, "made store": cluster.security.store_password,
            "brokers": cluster.security.passwords["broker"], "admin": cluster.security.passwords["admin"],
            "token": cluster.access("alice", mechanism="OAUTHBEARER")._token().split(".")[1][:24],
        }  # fmt: skip
        said = {**tools(cluster, inputs), **answers(cluster), **clients(cluster)}
        planted |= delegated(cluster, said)
        made, said["delegation token"] = delegation_token(cluster)
        planted |= {"HMAC as a password": made.password, "HMAC in hexadecimal": made.hmac.hex()}
        said["metrics"] = "".join(metrics_page(broker) for broker in cluster.brokers)
        yield Run(planted, folder, inputs, said)


def restart_with_more(cluster: KafkaCluster, files: CertificateFiles, inputs: Path) -> None:
    """A listener with stores and passwords of its own, and everything in the log from the first line on."""
    log4j = inputs / "log4j.properties"
    log4j.write_text(EVERYTHING)
    stores = {**files.trust(), **files.keystore("mutual", files.issue("broker", certificate_files.HOSTS))}
    for broker in cluster.brokers:
        broker.environment["KAFKA_LOG4J_OPTS"] = f"-Dlog4j.configuration=file:{log4j}"
        broker.stop()
        broker.properties |= {
            "listeners": f"{broker.properties['listeners']},MUTUAL://127.0.0.1:{free_port()}",
            "listener.security.protocol.map": "SASL_SSL:SASL_SSL,MUTUAL:SSL",
            "listener.name.mutual.ssl.client.auth": "required",
            **{f"listener.name.mutual.{name}": value for name, value in stores.items()},
        }
        broker.start()


# ---- what is run


def tools(cluster: KafkaCluster, inputs: Path) -> dict[str, str]:
    """What each command prints; some are meant to fail."""
    at = ("--bootstrap-server", cluster.bootstrap_servers)
    admin = ("--command-config", str(cluster.access("admin").properties_file))
    wrong = ("--command-config", str(cluster.access("alice", password=WRONG).properties_file))
    plain = ("--command-config", str(cluster.access("alice", mechanism=PLAIN).properties_file))
    token = ("--command-config", str(cluster.access("alice", mechanism="OAUTHBEARER").properties_file))
    misspelt = inputs / "misspelt.properties"
    misspelt.write_text(format_properties({**cluster.access("admin").settings, "ssl.truststore.pasword": MISSPELT}))
    malformed = inputs / "malformed.properties"
    malformed.write_text(f"ssl.truststore.password={MISSPELT}\\u00\n")
    no_login = inputs / "no-login.properties"
    no_login.write_text(format_properties({**cluster.access("admin").settings, "sasl.jaas.config": f'x "{MISSPELT}'}))
    describe = ("--describe", "--entity-type")
    alter, users = ("--alter", "--entity-type"), ("users", "--entity-name", "carol")
    store = f"listener.name.sasl_ssl.ssl.keystore.password={cluster.security.store_password}"  # type: ignore[union-attr]
    commands: list[tuple[str, ...]] = [
        ("acls", *at, *admin, "--add", "--topic", "*", "--group", "*", "--allow-principal", "User:alice"),
        ("configs", *at, *admin, *alter, *users, "--add-config", f"SCRAM-SHA-256=[iterations=4096,password={NEW_256}]"),
        ("configs", "--zookeeper", cluster.zookeeper_connect, *alter, *users, "--add-config",
         f"SCRAM-SHA-512=[password={NEW_512}]"),
        ("configs", *at, *admin, *alter, "brokers", "--entity-name", "0", "--add-config", store),
        *(("configs", *at, *admin, *describe, "brokers", "--entity-name", name, "--all") for name in "01"),
        ("configs", *at, *admin, *describe, "users"),
        ("configs", *at, *admin, *describe, "brokers", "--output", "json"),
        ("configs", *at, *admin, *alter, *users, "--add-config", f"SCRAM-SHA-256=[iterations=5000;password={NEW_256}]"),
        ("topics", *at, *admin, "--create", "--topic", "t", "--replication-factor", "2"),
        *(("topics", *at, *how, "--list") for how in (plain, token, wrong)),
        *(("topics", *at, "--command-config", str(file), "--list") for file in (misspelt, malformed, no_login)),
        ("console-consumer", *at, "--consumer.config", plain[1], "--topic", "t", "--timeout-ms", "500"),
        ("check", str(misspelt), str(no_login), *(str(each.folder / "server.properties") for each in cluster.brokers)),
    ]  # fmt: skip
    said = {}
    for number, command in enumerate(commands):
        done = subprocess.run(
            [sys.executable, "-m", "kafka_py.cli.umbrella.main", *command], input="v\n", capture_output=True, text=True,
            timeout=TIMEOUT_S, env={**os.environ, **python_environment()}, cwd=ROOT, check=False,
        )  # fmt: skip
        said[f"{number} {command[0]}"] = done.stdout + done.stderr
    return {**said, **refused_broker(cluster.brokers[0], inputs)}


def refused_broker(like: BrokerProcess, inputs: Path) -> dict[str, str]:
    """Brokers that do not start, for a store whose password is another one, and for a login that cannot be parsed."""
    said = {}
    for name, value in (("ssl.keystore.password", WRONG),
                        ("listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config", f'm required password="{WRONG}'),
                        ("ssl.truststore.certificates", WRONG)):  # fmt: skip
        file = inputs / "refused.properties"
        file.write_text(format_properties({**like.properties, "log.dirs": str(inputs / "refused"), name: value}))
        command = [sys.executable, "-m", "kafka_py.cli.run_class", "kafka.Kafka", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, cwd=ROOT,
                              env={**os.environ, **python_environment()})  # fmt: skip
        assert done.returncode == 1, done
        said[f"broker refused for {name}"] = done.stdout + done.stderr
    return said


def answers(cluster: KafkaCluster) -> dict[str, str]:
    """Everything that DescribeConfigs tells the administrator, and what altering credentials answers."""
    with AdminClient(cluster.access("admin").settings) as admin:
        altered = admin.alter_user_scram_credentials({"dave": {SCRAM_256: ScramPassword(NEW_API)}})
        kinds = [ConfigResource(ConfigResourceType.BROKER, name) for name in ("0", "1", "")]
        kinds += [ConfigResource(ConfigResourceType.BROKER_LOGGER, "0"), ConfigResource(ConfigResourceType.TOPIC, "t")]
        found = {f"DescribeConfigs of {each}": repr(admin.describe_configs([each])) for each in kinds}
        assert "password.encoder.secret" in found[f"DescribeConfigs of {kinds[0]}"]
        return {**found, "AlterUserScramCredentials": repr(altered), "admin": repr(admin)}


def delegated(cluster: KafkaCluster, said: dict[str, str]) -> dict[str, str]:
    """The secrets of a delegation token, which was made, renewed, described and used."""
    alice = cluster.access("alice").settings
    with AdminClient(alice) as admin:
        token = admin.create_delegation_token()
        admin.renew_delegation_token(token.hmac)
        said["delegation tokens"] = repr([token, admin.describe_delegation_token()])
    assert token.token_id in said["delegation tokens"]
    login = login_entry(SCRAM_256, {"username": token.token_id, "password": token.password, "tokenauth": "true"})
    with logged() as log:
        settings = {**alice, "sasl.mechanism": SCRAM_256, "sasl.jaas.config": login}
        wait_until(lambda: is_accepted(settings), TIMEOUT_S, "the token on every broker")
    said["log of a client with a token"] = log.getvalue()
    as_bytes = repr(token.hmac)[2:-1][:40]
    return {"delegation token": token.password, "the same as bytes": as_bytes, "in hex": token.hmac.hex()}


def is_accepted(settings: dict[str, str]) -> bool:
    try:
        with AdminClient(settings) as admin:
            return admin.describe_cluster() is not None
    except AuthenticationError:
        return False


def clients(cluster: KafkaCluster) -> dict[str, str]:
    """What our clients log, raise and show of themselves."""
    said: dict[str, str] = {}
    with logged() as log:
        for mechanism in (SCRAM_512, PLAIN, "OAUTHBEARER"):
            said |= one_client(mechanism, cluster.access("alice", mechanism=mechanism).settings)
        for mechanism in (SCRAM_256, PLAIN):
            settings = cluster.access("bob", mechanism=mechanism, password=WRONG).settings
            with pytest.raises(KafkaError) as failed, Producer(settings) as producer:
                producer.send("t", value=b"v").result(TIMEOUT_S)
            said[f"refused {mechanism}"] = repr(failed.value) + str(failed.getrepr(showlocals=False))
    said["log of the clients"] = log.getvalue()
    return said


def delegation_token(cluster: KafkaCluster) -> tuple[DelegationToken, str]:
    """Makes a token, logs in with it, and renews and ends it; what is shown of it."""
    settings = cluster.access("alice", mechanism=SCRAM_256).settings
    with logged() as log, AdminClient(settings) as admin:
        token = admin.create_delegation_token()
        shown = [token, admin.describe_delegation_token(), admin.renew_delegation_token(token.hmac)]
        by_token = {"username": token.token_id, "password": token.password, "tokenauth": "true"}
        with AdminClient({**settings, "sasl.jaas.config": login_entry(SCRAM_256, by_token)}) as other:
            shown += [other.list_topics(), other]
            with pytest.raises(KafkaError) as failed:
                other.renew_delegation_token(token.hmac)
            shown.append(failed.value)
        shown.append(admin.expire_delegation_token(token.hmac))
    return token, "\n".join([*map(repr, shown), log.getvalue()])


def one_client(mechanism: str, settings: dict[str, str]) -> dict[str, str]:
    shown: list[Any] = []
    with Producer(settings) as producer, Consumer({**settings, "group.id": f"g-{mechanism}"}) as consumer:
        producer.send("t", value=b"v").result(TIMEOUT_S)
        consumer.assign([TopicPartition("t", 0)])
        consumer.seek_to_beginning([TopicPartition("t", 0)])
        assert consumer.poll(timeout=TIMEOUT_S)
        shown += [producer, consumer, producer.metrics(), consumer.metrics()]
    for table in (ProducerOptions, ConsumerOptions, AdminOptions):
        options = table.load({**settings, "com.example.token": UNKNOWN})
        security = security_of(options, SYSTEM)
        shown += [options, security, security.log_in, security.tls_to, tls_settings(options), options.unknown]
        shown += [table.ROWS["sasl.jaas.config"]]
    return {f"repr with {mechanism}": "\n".join(map(repr, shown))}


@contextlib.contextmanager
def logged() -> Iterator[io.StringIO]:
    """Every line that is logged in this process."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield text
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def metrics_page(broker: BrokerProcess) -> str:
    url = broker.output().partition("metrics at ")[2].partition(";")[0]
    with urllib.request.urlopen(url, timeout=TIMEOUT_S) as page:
        return str(page.read().decode())


# ---- the search


def forms(secret: str) -> list[bytes]:
    """How a secret may be written: as it is, and as the formats that bytes are shown in have it."""
    data = secret.encode()
    tokens = [f"\0{user}\0{secret}".encode() for user in ("alice", "bob")]
    return [data, data.hex().encode(), *(base64.b64encode(each)[:-4] for each in (data, *tokens))]


def found_in(secrets: dict[str, str], data: bytes) -> list[str]:
    return [name for name, secret in secrets.items() if any(form in data for form in forms(secret))]


def test_the_search_finds_what_is_there(run: Run) -> None:
    assert found_in(run.secrets, f"x{ALICE}y".encode()) == ["alice"]
    assert found_in(run.secrets, base64.b64encode(f"\0bob\0{BOB}".encode())) == ["bob"]
    given = (run.inputs / "misspelt.properties").read_bytes()
    assert found_in(run.secrets, given) == ["misspelt", "made store", "admin"]


def test_no_file_has_a_secret(run: Run) -> None:
    """Logs, output, data of brokers and of ZooKeeper."""
    given = {run.inputs, run.folder / "cluster" / "security"}
    searched, found = 0, {}
    for path in sorted(run.folder.rglob("*")):
        if path.is_file() and path.name != "server.properties" and not given & {*path.parents}:
            searched += 1
            found[str(path)] = found_in(run.secrets, path.read_bytes())
    assert searched > 20
    assert {path: names for path, names in found.items() if names} == {}


def test_no_answer_output_page_or_repr_has_one(run: Run) -> None:
    found = {what: found_in(run.secrets, text.encode()) for what, text in run.said.items()}
    assert {what: (names, run.said[what][-500:]) for what, names in found.items() if names} == {}


def test_the_run_did_what_it_was_meant_to(run: Run) -> None:
    """A search finds nothing either where nothing was said."""
    logs = "".join(path.read_text(errors="replace") for path in run.folder.rglob("server.log"))
    for words in ("ALTER_USER_SCRAM_CREDENTIALS", "ALTER_CONFIGS", "DESCRIBE_CONFIGS", "Failed authentication",
                  "CREATE_DELEGATION_TOKEN", "CREATE_DELEGATION_TOKEN", "has set the end of the delegation token",
                  "keystore.password=[hidden]", "(redacted)"):  # fmt: skip
        assert words in logs, words
    by_name = "\n".join(f"{what}: {text}" for what, text in run.said.items())
    for words in ("SCRAM-SHA-256=iterations=4096", "Created topic t", "ssl.truststore.pasword", "malformed",
                  "SCRAM_SHA_256=[hidden]", "kafka_server", "uthentication"):  # fmt: skip
        assert words in by_name, words
    assert login_entry(PLAIN, {"username": "alice", "password": ALICE}) not in by_name
