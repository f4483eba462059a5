"""The files of kafka-make-certificates.sh: what they hold, who can read them, and that they fit each other."""

import stat
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from kafka_py.base.properties import parse_properties
from kafka_py.cli.certificates.make_certificates import main
from kafka_py.cli.common.command import CommandFailed, UsageError
from kafka_py.security.tls.contexts import client_context, fault_between, server_context
from kafka_py.security.tls.settings import TlsSettings
from kafka_py.security.tls.stores import load_stores


def settings(path: Path, client_auth: str = "none") -> TlsSettings:
    return TlsSettings.of(parse_properties(path.read_text()), client_auth=client_auth)


def fault(folder: Path, broker: str, client: str) -> str | None:
    server = settings(folder / f"{broker}.properties", "required")
    connecting = settings(folder / f"{client}.properties")
    return fault_between(
        server_context(server, load_stores(server)), client_context(connecting, load_stores(connecting))
    )


def test_brokers_and_clients_trust_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--directory", str(tmp_path / "made"), "--brokers", "b1,b2", "--clients", "alice"]) == 0
    shown = capsys.readouterr().out
    assert "b2.properties" in shown and (tmp_path / "made" / "password").read_text() not in shown
    assert fault(tmp_path / "made", "b1", "alice") is None
    assert fault(tmp_path / "made", "b1", "b2") is None


def test_a_later_run_adds_what_the_same_authority_signs(tmp_path: Path) -> None:
    main(["--directory", str(tmp_path), "--brokers", "b1", "--clients", ""])
    main(["--directory", str(tmp_path), "--brokers", "", "--clients", "bob"])
    assert fault(tmp_path, "b1", "bob") is None


def test_secrets_are_readable_by_their_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    main(["--directory", str(folder)])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    public = {"authority.pem", "truststore.p12", "broker-certificate.pem", "client-certificate.pem"}
    for path in folder.iterdir():
        assert path.name in public or stat.S_IMODE(path.stat().st_mode) == 0o600, path.name


def test_files_that_are_there_are_replaced_and_not_written_through(tmp_path: Path) -> None:
    """One that everyone can read would stay so, and a link would have the key written to another place."""
    outside = tmp_path / "outside"
    outside.write_text("kept")
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "broker.p12").write_text("old")
    (folder / "broker.p12").chmod(0o644)
    (folder / "broker-key.pem").symlink_to(outside)
    main(["--directory", str(folder)])
    for name in ("broker.p12", "broker-key.pem"):
        assert not (folder / name).is_symlink() and stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    assert outside.read_text() == "kept"


@pytest.mark.parametrize(
    ("brokers", "clients"),
    [("b", "authority"), ("truststore", "c"), ("b", "b"), ("b", "c,c-key"), ("b,b-certificate", "c")],
)
def test_names_whose_files_would_replace_others_are_refused(tmp_path: Path, brokers: str, clients: str) -> None:
    """A broker's certificate would be without its hosts, or the authority be lost for ever."""
    folder = tmp_path / "certificates"
    with pytest.raises(CommandFailed, match=r"cannot be the name of a (broker|client): .* is a file of"):
        main(["--directory", str(folder), "--brokers", brokers, "--clients", clients])
    assert not folder.exists()


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="directory"):
        main(["--brokers", "b"])
    with pytest.raises(CommandFailed, match="cannot be the name of a file"):
        main(["--directory", str(tmp_path), "--clients", "../x"])
    with pytest.raises(CommandFailed, match="cannot be the name of a file"):
        main(["--directory", str(tmp_path), "--brokers", "x/../../y"])
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandFailed, match=r"file/made: Not a directory"):
        main(["--directory", str(tmp_path / "file" / "made")])
