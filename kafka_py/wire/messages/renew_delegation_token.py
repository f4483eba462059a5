"""RenewDelegationToken (39): put off a token's expiry (KIP-48)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bytes, Int16, Int32, Int64, request, response


@request(api=ApiKey.RENEW_DELEGATION_TOKEN, versions=(0, 2), flexible=2)
class RenewDelegationTokenRequest:
    """Names the token by its secret."""

    hmac: Bytes
    renew_period_ms: Int64  # -1: the broker's own


@response(api=ApiKey.RENEW_DELEGATION_TOKEN, versions=(0, 2), flexible=2)
class RenewDelegationTokenResponse:
    """The new expiry."""

    error_code: Int16
    expiry_timestamp_ms: Int64
    throttle_time_ms: Int32
