"""SaslHandshake (17): agree on a SASL mechanism."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, String, request, response


@request(api=ApiKey.SASL_HANDSHAKE, versions=(0, 1), flexible=None)
class SaslHandshakeRequest:
    """The mechanism that the client wants. After v1 tokens travel in SaslAuthenticate, after v0 as bare frames
    (KIP-152).
    """

    mechanism: String


@response(api=ApiKey.SASL_HANDSHAKE, versions=(0, 1), flexible=None)
class SaslHandshakeResponse:
    """Accepted, or the mechanisms that the listener has."""

    error_code: Int16
    mechanisms: list[String]
