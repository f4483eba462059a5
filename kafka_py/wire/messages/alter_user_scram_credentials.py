"""AlterUserScramCredentials (51): set and delete SCRAM credentials (KIP-554)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bytes, Int8, Int16, Int32, String, request, response, struct


@struct
class ScramCredentialDeletion:
    name: String
    mechanism: Int8  # 1: SCRAM-SHA-256, 2: SCRAM-SHA-512


@struct
class ScramCredentialUpsertion:
    """New credentials of one user for one mechanism."""

    name: String
    mechanism: Int8  # 1: SCRAM-SHA-256, 2: SCRAM-SHA-512
    iterations: Int32
    salt: Bytes
    salted_password: Bytes


@request(api=ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions=(0, 0), flexible=0)
class AlterUserScramCredentialsRequest:
    """Credentials to delete and to set; the password arrives salted and hashed."""

    deletions: list[ScramCredentialDeletion]
    upsertions: list[ScramCredentialUpsertion]


@struct
class AlterUserScramCredentialsResult:
    user: String
    error_code: Int16
    error_message: String | None


@response(api=ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions=(0, 0), flexible=0)
class AlterUserScramCredentialsResponse:
    """An error for each user."""

    throttle_time_ms: Int32
    results: list[AlterUserScramCredentialsResult]
