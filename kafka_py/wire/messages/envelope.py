"""Envelope (58): a client's request, forwarded to the controller by a broker (KIP-590)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bytes, Int16, request, response, since


@request(api=ApiKey.ENVELOPE, versions=(0, 0), flexible=0)
class EnvelopeRequest:
    """A whole request, header included, with the principal and address it came from."""

    request_data: Bytes
    request_principal: Bytes | None
    client_host_address: Bytes  # 4 or 16 bytes


@response(api=ApiKey.ENVELOPE, versions=(0, 0), flexible=0)
class EnvelopeResponse:
    """The controller's whole response, header included."""

    response_data: Bytes | None = since(0, default=None)
    error_code: Int16
