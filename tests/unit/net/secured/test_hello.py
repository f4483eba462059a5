"""Which messages of a TLS client are seen as short work; the messages are OpenSSL's own."""

import ssl
from pathlib import Path
from random import Random

import pytest

from kafka_py.net.secured.hello import LONGEST_BYTES, MOST_PARTS, Flight, flight
from kafka_py.testing.tls_ends import client_end, contexts, server_end

CHANGE_CIPHER_SPEC = b"\x14\x03\x03\x00\x01\x01"
X25519_SHARE = b"\x00\x33\x00\x26\x00\x24\x00\x1d\x00\x20"  # extension, its size, size of the shares, group, key's size


class Client:
    """One client between buffers."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._end = client_end(context)(self.incoming, self._outgoing)

    def sends(self) -> bytes:
        try:
            self._end.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return self._outgoing.read()


def client_context(folder: Path, curve: str = "X25519") -> ssl.SSLContext:
    context = contexts(folder)[1]
    context.set_ecdh_curve(curve)
    return context


def hello(folder: Path, curve: str = "X25519") -> bytes:
    return Client(client_context(folder, curve)).sends()


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ("X25519", Flight.SHORT_HELLO),
        ("prime256v1", Flight.SHORT_HELLO),
        ("secp384r1", Flight.OTHER),
        ("secp521r1", Flight.OTHER),
    ],
)
def test_the_group_of_the_key_share_decides(tmp_path: Path, curve: str, expected: Flight) -> None:
    assert flight(hello(tmp_path, curve)) is expected
    assert flight(CHANGE_CIPHER_SPEC + hello(tmp_path, curve)) is expected


def test_the_clients_own_choice_is_short(tmp_path: Path) -> None:
    assert flight(Client(contexts(tmp_path)[1]).sends()) is Flight.SHORT_HELLO


def test_a_finite_field_group_is_not_short_wherever_it_is(tmp_path: Path) -> None:
    data = hello(tmp_path)
    assert X25519_SHARE in data
    assert flight(data.replace(X25519_SHARE, X25519_SHARE.replace(b"\x00\x1d", b"\x01\x04"))) is Flight.OTHER
    key = b"\x07" * 12
    two = b"\x00\x33\x00\x26\x00\x24\x00\x1d\x00\x0c" + key + b"\x01\x04\x00\x10" + key + b"\x07" * 4
    at = data.index(X25519_SHARE)
    assert flight(data[:at] + two + data[at + len(two) :]) is Flight.OTHER
    assert flight(data[:at] + two.replace(b"\x01\x04", b"\x00\x17") + data[at + len(two) :]) is Flight.SHORT_HELLO


def test_an_older_version_is_not_short(tmp_path: Path) -> None:
    context = client_context(tmp_path)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    assert flight(Client(context).sends()) is Flight.OTHER


def test_a_key_share_without_the_version_that_uses_it_is_not_short(tmp_path: Path) -> None:
    """The server would choose TLS 1.2, and a group that the client names elsewhere."""
    data = hello(tmp_path)
    at = data.index(b"\x00\x2b\x00")  # the extension of versions
    assert b"\x03\x04" in data[at + 5 : at + 5 + data[at + 4]]
    for changed in (
        data[: at + 1] + b"\xfa" + data[at + 2 :],
        data[: at + 5] + data[at + 5 :].replace(b"\x03\x04", b"\x03\x02", 1),
    ):
        assert flight(changed) is Flight.OTHER


def test_a_message_that_is_cut_off_or_followed_by_another_is_not_short(tmp_path: Path) -> None:
    data = hello(tmp_path)
    assert {flight(data[:end]) for end in range(len(data))} == {Flight.OTHER}
    for more in (b"\0", data, CHANGE_CIPHER_SPEC):
        assert flight(data + more) is Flight.OTHER
    assert flight(CHANGE_CIPHER_SPEC + CHANGE_CIPHER_SPEC + data) is Flight.OTHER


def test_sizes_that_do_not_agree_are_not_short(tmp_path: Path) -> None:
    data = hello(tmp_path)
    content = data[5:]
    in_two_records = data[:3] + (10).to_bytes(2) + content
    two_messages = data[:3] + (len(content) + 4).to_bytes(2) + content + b"\x14\0\0\0"
    another_message = data[:5] + b"\x02" + content[1:]
    share_beyond_the_end = data.replace(X25519_SHARE, b"\x00\x33\x7f" + X25519_SHARE[3:])
    extensions_beyond_the_end = (
        data[:3] + (len(content) - 1).to_bytes(2) + content[:1] + (len(content) - 5).to_bytes(3) + content[4:-1]
    )
    several = in_two_records, two_messages, another_message, share_beyond_the_end, extensions_beyond_the_end
    assert [flight(changed) for changed in several] == [Flight.OTHER] * len(several)


def test_a_long_message_is_not_read(tmp_path: Path) -> None:
    context = client_context(tmp_path)
    context.set_alpn_protocols(["x" * 200] * 40)
    long = Client(context).sends()
    assert len(long) > LONGEST_BYTES
    assert flight(long) is Flight.OTHER


def with_extensions(data: bytes, more: bytes) -> bytes:
    """A ClientHello record with further extensions before its own."""
    at = 43 + 1 + data[43]  # after the session id
    at += 2 + int.from_bytes(data[at : at + 2])
    at += 1 + data[at]
    extensions = more + data[at + 2 :]
    message = data[9:at] + len(extensions).to_bytes(2) + extensions
    return data[:3] + (len(message) + 4).to_bytes(2) + b"\x01" + len(message).to_bytes(3) + message


def test_a_message_of_many_parts_is_not_read_to_its_end(tmp_path: Path) -> None:
    data = hello(tmp_path)
    few, many = (b"\xfa\xfa\0\0" * number for number in (MOST_PARTS - 30, MOST_PARTS))
    assert flight(with_extensions(data, few)) is Flight.SHORT_HELLO
    assert flight(with_extensions(data, many)) is Flight.OTHER
    for number, expected in ((MOST_PARTS - 30, Flight.SHORT_HELLO), (MOST_PARTS, Flight.OTHER)):
        shares = b"\0\x1d\0\0" * number
        share = b"\0\x33" + (len(shares) + 2).to_bytes(2) + len(shares).to_bytes(2) + shares
        assert flight(with_extensions(data, share)) is expected


def test_records_that_only_begin_as_encrypted_ones_are_not_short(tmp_path: Path) -> None:
    """Before a second ClientHello they are skipped as early data, and it may ask for the longest group."""
    record = b"\x17\x03\x03\x00\x03abc"
    for first in (b"", CHANGE_CIPHER_SPEC):
        assert flight(first + record) is flight(first + record + record) is Flight.ENCRYPTED
        for after in (hello(tmp_path), CHANGE_CIPHER_SPEC + hello(tmp_path), b"\x15", b"\0"):
            assert flight(first + record + after) is flight(first + record * 3 + after) is Flight.OTHER
        for end in range(1, len(record)):
            assert flight(first + record[:end]) is flight(first + record + record[:end]) is Flight.OTHER
    assert flight(record * (LONGEST_BYTES // len(record))) is Flight.ENCRYPTED
    assert flight(record * (LONGEST_BYTES // len(record) + 1)) is Flight.OTHER


def test_what_follows_the_messages_of_the_server_is_encrypted(tmp_path: Path) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = server_end(contexts(tmp_path)[0])(incoming, outgoing)
    client = Client(client_context(tmp_path))
    incoming.write(client.sends())
    with pytest.raises(ssl.SSLWantReadError):
        server.do_handshake()
    client.incoming.write(outgoing.read())
    assert flight(client.sends()) is Flight.ENCRYPTED


def test_changed_bytes_are_no_error(tmp_path: Path) -> None:
    data, rng = hello(tmp_path), Random(3)
    found = set()
    for _ in range(3000):
        changed = bytearray(data)
        for _ in range(rng.randrange(1, 6)):
            changed[rng.randrange(len(changed))] = rng.choice((0, 255, rng.randrange(256)))
        found.add(flight(bytes(changed)))
    assert Flight.OTHER in found and Flight.SHORT_HELLO in found
