"""TLS to ZooKeeper: which name is checked, and what the failures are called."""

import socket
import ssl
import threading

import pytest

from kafka_py.security.zookeeper.tls_options import named_for_authorizer
from kafka_py.testing.certificate_files import CertificateFiles
from kafka_py.zk.secured.tls_link import TlsLink, failure_text


@pytest.fixture
def serve(tmp_path):
    """A function that starts a server whose certificate names these hosts; returns a dialler and a client's context."""
    threads = []

    def start(*hosts):
        files = CertificateFiles(tmp_path / "-".join(hosts))
        certificate, key = files.separate("server", files.issue("server", hosts))
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(certificate, key)
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client.load_verify_locations(files.authority_pem)

        def dial():
            near, far = socket.socketpair()
            near.settimeout(20)

            def answer():
                try:
                    server.wrap_socket(far, server_side=True).close()
                except OSError:
                    far.close()

            threads.append(threading.Thread(target=answer))
            threads[-1].start()
            return near

        return dial, client

    yield start
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("named", ["zk.example", "10.1.2.3"])
def test_a_certificate_names_the_host_or_its_address(serve, named):
    dial, client = serve(named)
    failures = []
    TlsLink(client, failures.append).connect(dial, "zk.example", "10.1.2.3", 2182).close()
    assert failures == []


def test_another_name_is_refused_and_the_setting_named(serve):
    dial, client = serve("other.example")
    failures = []
    with pytest.raises(ssl.SSLCertVerificationError):
        TlsLink(client, failures.append).connect(dial, "zk.example", "10.1.2.3", 2182)
    (failure,) = failures
    assert failure.startswith("zk.example:2182: the server's certificate names another host")
    assert "zookeeper.ssl.endpoint.identification.algorithm" in failure


def test_only_for_another_name_a_second_connection_is_tried(serve):
    dial, _ = serve("zk.example")
    dials, failures = [], []

    def counted():
        dials.append(dial())
        return dials[-1]

    with pytest.raises(ssl.SSLCertVerificationError):
        TlsLink(ssl.create_default_context(), failures.append).connect(counted, "zk.example", "10.1.2.3", 2182)
    assert len(dials) == len(failures) == 1
    assert "zookeeper.ssl.truststore.location" in failures[0]


def test_no_name_is_checked_where_the_settings_say_so(serve):
    dial, client = serve("other.example")
    client.check_hostname = False
    failures = []
    TlsLink(client, failures.append).connect(dial, "zk.example", "10.1.2.3", 2182).close()
    assert failures == []


def test_an_unknown_authority_is_refused_and_the_setting_named(serve, tmp_path):
    dial, _ = serve("zk.example")
    stranger = ssl.create_default_context()
    failures = []
    with pytest.raises(ssl.SSLError):
        TlsLink(stranger, failures.append).connect(dial, "zk.example", "zk.example", 2182)
    assert "the server's certificate is refused (zookeeper.ssl.truststore.location)" in failures[0]


@pytest.mark.parametrize(
    ("reason", "setting"),
    [
        ("TLSV1_ALERT_UNKNOWN_CA", "zookeeper.ssl.keystore.location"),
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "zookeeper.ssl.keystore.location"),
        ("SSLV3_ALERT_HANDSHAKE_FAILURE", "zookeeper.ssl.cipher.suites"),
        ("TLSV1_ALERT_PROTOCOL_VERSION", "zookeeper.ssl.enabled.protocols"),
        ("WRONG_VERSION_NUMBER", "zookeeper.connect"),
        ("SOMETHING_NEW", "something new"),
    ],
)
def test_each_failure_is_one_line_with_the_setting_concerned(reason, setting):
    error = ssl.SSLError(1, "text")
    error.reason = reason
    assert setting in failure_text(error)
    assert "\n" not in failure_text(error)


def test_a_connection_that_ends_may_be_on_the_wrong_port():
    assert "zookeeper.connect" in failure_text(ssl.SSLEOFError(8, "EOF occurred"))


def test_a_failure_has_the_names_by_which_the_settings_were_given(serve):
    given = {"authorizer.zookeeper.ssl.truststore.location": "/t", "authorizer.zookeeper.url": "h:1"}
    dial, _ = serve("zk.example")
    failures = []
    stranger = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    link = TlsLink(stranger, failures.append, lambda text: named_for_authorizer(text, given))
    with pytest.raises(ssl.SSLCertVerificationError):
        link.connect(dial, "zk.example", "zk.example", 2182)
    link.report(ssl.SSLEOFError(8, "EOF occurred"), "zk.example", 2182)
    assert "(authorizer.zookeeper.ssl.truststore.location)" in failures[0]
    assert "(authorizer.zookeeper.url)" in failures[1]
