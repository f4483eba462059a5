"""SaslAuthenticate (36): one step of a SASL exchange (KIP-152)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bytes, Int16, Int64, String, request, response, since


@request(api=ApiKey.SASL_AUTHENTICATE, versions=(0, 2), flexible=2)
class SaslAuthenticateRequest:
    """The client's token."""

    auth_bytes: Bytes


@response(api=ApiKey.SASL_AUTHENTICATE, versions=(0, 2), flexible=2)
class SaslAuthenticateResponse:
    """The server's token. v1 for how long the session holds (KIP-368)."""

    error_code: Int16
    error_message: String | None
    auth_bytes: Bytes
    session_lifetime_ms: Int64 = since(1, ignorable=True)  # 0: without end
