"""CreateDelegationToken (38): a token that stands for its owner (KIP-48)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bytes, Int16, Int32, Int64, String, request, response, struct


@struct
class CreatableRenewers:
    principal_type: String
    principal_name: String


@request(api=ApiKey.CREATE_DELEGATION_TOKEN, versions=(0, 2), flexible=2)
class CreateDelegationTokenRequest:
    """The asker becomes the owner; renewers may renew it too."""

    renewers: list[CreatableRenewers]
    max_lifetime_ms: Int64  # -1: the broker's own


@response(api=ApiKey.CREATE_DELEGATION_TOKEN, versions=(0, 2), flexible=2)
class CreateDelegationTokenResponse:
    """The token: its id and secret."""

    error_code: Int16
    principal_type: String
    principal_name: String
    issue_timestamp_ms: Int64
    expiry_timestamp_ms: Int64
    max_timestamp_ms: Int64
    token_id: String
    hmac: Bytes
    throttle_time_ms: Int32
