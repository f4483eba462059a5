"""DescribeUserScramCredentials (50): which users have SCRAM credentials (KIP-554)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int8, Int16, Int32, String, request, response, struct


@struct
class UserName:
    name: String


@request(api=ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions=(0, 0), flexible=0)
class DescribeUserScramCredentialsRequest:
    """Users, or null or none for all."""

    users: list[UserName] | None


@struct
class CredentialInfo:
    mechanism: Int8  # 1: SCRAM-SHA-256, 2: SCRAM-SHA-512
    iterations: Int32


@struct
class DescribeUserScramCredentialsResult:
    user: String
    error_code: Int16
    error_message: String | None
    credential_infos: list[CredentialInfo]


@response(api=ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions=(0, 0), flexible=0)
class DescribeUserScramCredentialsResponse:
    """Mechanisms and iteration counts; never a secret."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    results: list[DescribeUserScramCredentialsResult]
