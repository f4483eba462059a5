"""Contexts of OpenSSL that OpenSSL's own client tries."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest

from kafka_py.security.tls.contexts import server_context
from kafka_py.security.tls.settings import TlsSettings
from kafka_py.security.tls.stores import load_stores
from kafka_py.testing.certificate_files import CertificateFiles

TIMEOUT_S = 20
ALLOW_CLIENT_RENEGOTIATION = 1 << 8
"""From OpenSSL 3 on servers refuse by themselves without this option, for which Python 3.11 has no name."""


def listener_context(folder: Path, protocol: str) -> ssl.SSLContext:
    files = CertificateFiles(folder)
    given = {**files.broker("broker"), "ssl.enabled.protocols": [protocol]}
    settings = TlsSettings.of(given)
    return server_context(settings, load_stores(settings))


def renegotiated(context: ssl.SSLContext) -> tuple[bytes, str]:
    """What a server got from a client that asks for a renegotiation before its second line, and what that said."""
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            accepted, _ = listening.accept()
            accepted.settimeout(TIMEOUT_S)
            try:
                with context.wrap_socket(accepted, server_side=True) as secured:
                    while data := secured.recv(100):
                        got.append(data)
                        secured.sendall(b"next\n")
            except OSError:
                pass

        thread = threading.Thread(target=serve)
        thread.start()
        client = subprocess.Popen(
            ["openssl", "s_client", "-tls1_2", "-connect", f"127.0.0.1:{listening.getsockname()[1]}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert client.stdin is not None and client.stdout is not None
        said = ""
        for line, answer in (("first\n", "next\n"), ("R\n", "RENEGOTIATING\n"), ("second\n", "next\n")):
            with contextlib.suppress(BrokenPipeError):
                client.stdin.write(line)
                client.stdin.flush()
            for heard in client.stdout:
                said += heard
                if heard.endswith(answer):
                    break
        with contextlib.suppress(BrokenPipeError):
            client.stdin.close()
        said += client.stdout.read()
        client.wait(TIMEOUT_S)
        thread.join(TIMEOUT_S)
    return b"".join(got), said


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl")
def test_a_renegotiation_is_refused(tmp_path: Path) -> None:
    """Each would cost the server another key exchange, at the price of a few bytes."""
    context = listener_context(tmp_path, "TLSv1.2")
    context.options |= ALLOW_CLIENT_RENEGOTIATION
    got, said = renegotiated(context)
    assert got.startswith(b"first\n"), said
    assert b"second" not in got
    assert "no renegotiation" in said
    context.options &= ~ssl.OP_NO_RENEGOTIATION
    got, said = renegotiated(context)
    assert b"second" in got, said
