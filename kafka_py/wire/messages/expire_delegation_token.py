"""ExpireDelegationToken (40): end a token, now or at a given time (KIP-48)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bytes, Int16, Int32, Int64, request, response


@request(api=ApiKey.EXPIRE_DELEGATION_TOKEN, versions=(0, 2), flexible=2)
class ExpireDelegationTokenRequest:
    """Names the token by its secret."""

    hmac: Bytes
    expiry_time_period_ms: Int64  # negative: at once


@response(api=ApiKey.EXPIRE_DELEGATION_TOKEN, versions=(0, 2), flexible=2)
class ExpireDelegationTokenResponse:
    """The new expiry."""

    error_code: Int16
    expiry_timestamp_ms: Int64
    throttle_time_ms: Int32
