"""The headers of requests and responses. frames.py encodes the same by hand, for speed."""

from kafka_py.wire.schema import ClassicString, Int16, Int32, message, since


@message(kind="header", versions=(0, 2), flexible=2)
class RequestHeader:
    """v0 only before ControlledShutdown v0; v1 adds the client id; v2, before flexible requests, adds tagged fields."""

    request_api_key: Int16
    request_api_version: Int16
    correlation_id: Int32
    client_id: ClassicString | None = since(1, ignorable=True)


@message(kind="header", versions=(0, 1), flexible=1)
class ResponseHeader:
    """v1, before flexible responses other than ApiVersions, adds tagged fields."""

    correlation_id: Int32
