"""The default serial form of a principal, inside a forwarded request (KIP-590)."""

from kafka_py.wire.schema import Bool, String, message


@message(versions=(0, 0), flexible=0)
class DefaultPrincipalData:
    """Kind and name of a principal."""

    type: String
    name: String
    token_authenticated: Bool
