"""DescribeDelegationToken (41): the tokens of some owners (KIP-48)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bytes, Int16, Int32, Int64, String, request, response, struct


@struct
class DescribeDelegationTokenOwner:
    principal_type: String
    principal_name: String


@request(api=ApiKey.DESCRIBE_DELEGATION_TOKEN, versions=(0, 2), flexible=2)
class DescribeDelegationTokenRequest:
    """Owners, or null for every token that the asker may see."""

    owners: list[DescribeDelegationTokenOwner] | None


@struct
class DescribedDelegationTokenRenewer:
    principal_type: String
    principal_name: String


@struct
class DescribedDelegationToken:
    principal_type: String
    principal_name: String
    issue_timestamp: Int64
    expiry_timestamp: Int64
    max_timestamp: Int64
    token_id: String
    hmac: Bytes
    renewers: list[DescribedDelegationTokenRenewer]


@response(api=ApiKey.DESCRIBE_DELEGATION_TOKEN, versions=(0, 2), flexible=2)
class DescribeDelegationTokenResponse:
    """Tokens with their secrets."""

    error_code: Int16
    tokens: list[DescribedDelegationToken]
    throttle_time_ms: Int32
