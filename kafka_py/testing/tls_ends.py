"""Two ends of TLS over a socket pair, with a certificate for `localhost` that is valid for a hundred years."""

from __future__ import annotations

import ssl
from pathlib import Path

from kafka_py.net.secured.tls_transport import MakeTls

PEM = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgIgiRR170CxGS+b45
aUcOzK2B2l+jbtjvczMlKZ6K6BGhRANCAARRrxObQ8uA3ePCb3M4WJqS6f4ZI4Sn
BXKT+HZGh3IB0fBbIjqk7bc1iFZUiuUHaKADUdpJ9Vk6GXC71jjZ4AIb
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBlTCCATugAwIBAgIUENqGM1uqvS+gyTNl1F9XfJDe00UwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMzA2NTgwMFoYDzIxMjYxMDMw
MDY1ODAwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARRrxObQ8uA3ePCb3M4WJqS6f4ZI4SnBXKT+HZGh3IB0fBbIjqk7bc1
iFZUiuUHaKADUdpJ9Vk6GXC71jjZ4AIbo2kwZzAdBgNVHQ4EFgQUou/I4e254SC+
T/90LH7r0iwlb7UwHwYDVR0jBBgwFoAUou/I4e254SC+T/90LH7r0iwlb7UwDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID
SAAwRQIgQOSzSMQjULe8wMiZpNjZBmc/KVcimYsyfpi+f8r1wHoCIQDBqjXydx/W
nAGdEMthrh8ykGqU6F3FIsuOTIXY1gUb0Q==
-----END CERTIFICATE-----
"""


def contexts(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """(of a server, of a client that trusts it)."""
    path = folder / "localhost.pem"
    path.write_text(PEM)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.load_verify_locations(path)
    return server, client


def server_end(context: ssl.SSLContext) -> MakeTls:
    return lambda incoming, outgoing: context.wrap_bio(incoming, outgoing, server_side=True)


def client_end(context: ssl.SSLContext, host: str = "localhost") -> MakeTls:
    return lambda incoming, outgoing: context.wrap_bio(incoming, outgoing, server_hostname=host)
