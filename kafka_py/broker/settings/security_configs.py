"""The settings of TLS, SASL, delegation tokens and stored passwords. Source: docs/reference/configs.tsv.

Declared here so that a property file of Apache Kafka has no unknown names; listeners decide which are used.
"""

from kafka_py.base.options import Kind, Live, Option, OptionTable, at_least, one_of

_EACH = Live.PER_BROKER


_JAVA = "OpenSSL has no such choice"


class AccessOptions(OptionTable):
    """Authorization and authentication. Settings that this broker does not enforce stop its start (protections.py)."""

    authorizer_class_name = Option(
        "authorizer.class.name", "", importance="low", about="Authorizer class; empty: everything is allowed.",
    )
    principal_builder_class: Option[str | None] = Option(
        "principal.builder.class", None, kind=Kind.CLASS, live=_EACH, about="Class that makes principals.",
    )
    security_providers: Option[str | None] = Option(
        "security.providers", None, kind=Kind.STRING, importance="low",
        no_effect="Java classes", about="Java only: security provider classes.",
    )
    connections_max_reauth_ms = Option(
        "connections.max.reauth.ms", 0, kind=Kind.LONG, unit="ms",
        about="SASL sessions end after this long unless the client logs in again (KIP-368); 0: never.",
    )


class TlsOptions(OptionTable):
    """Settings of TLS."""

    ssl_protocol = Option("ssl.protocol", "TLSv1.3", live=_EACH, no_effect=_JAVA, about="Name of the TLS context.")
    ssl_provider: Option[str | None] = Option(
        "ssl.provider", None, kind=Kind.STRING, live=_EACH, no_effect=_JAVA, about="Java only: TLS provider."
    )
    ssl_enabled_protocols = Option(
        "ssl.enabled.protocols", ["TLSv1.2", "TLSv1.3"], live=_EACH, about="TLS versions that are accepted."
    )
    ssl_keystore_type = Option("ssl.keystore.type", "JKS", live=_EACH, about="JKS, PKCS12 or PEM.")
    ssl_keystore_location: Option[str | None] = Option(
        "ssl.keystore.location", None, kind=Kind.STRING, live=_EACH, about="File with the broker's key.",
    )
    ssl_keystore_password: Option[str | None] = Option(
        "ssl.keystore.password", None, kind=Kind.PASSWORD, live=_EACH, about="Password of the key store file.",
    )
    ssl_key_password: Option[str | None] = Option(
        "ssl.key.password", None, kind=Kind.PASSWORD, live=_EACH, about="Password of the private key.",
    )
    ssl_keystore_key: Option[str | None] = Option(
        "ssl.keystore.key", None, kind=Kind.PASSWORD, live=_EACH, about="The private key itself, as PEM (KIP-651).",
    )
    ssl_keystore_certificate_chain: Option[str | None] = Option(
        "ssl.keystore.certificate.chain", None, kind=Kind.PASSWORD, live=_EACH, about="The certificates, as PEM.",
    )
    ssl_truststore_type = Option("ssl.truststore.type", "JKS", live=_EACH, about="JKS, PKCS12 or PEM.")
    ssl_truststore_location: Option[str | None] = Option(
        "ssl.truststore.location", None, kind=Kind.STRING, live=_EACH, about="File with the trusted certificates.",
    )
    ssl_truststore_password: Option[str | None] = Option(
        "ssl.truststore.password", None, kind=Kind.PASSWORD, live=_EACH, about="Password of the trust store file.",
    )
    ssl_truststore_certificates: Option[str | None] = Option(
        "ssl.truststore.certificates", None, kind=Kind.PASSWORD, live=_EACH, about="Trusted certificates, as PEM.",
    )
    ssl_keymanager_algorithm = Option(
        "ssl.keymanager.algorithm", "SunX509", live=_EACH, no_effect=_JAVA, about="Java only."
    )
    ssl_trustmanager_algorithm = Option(
        "ssl.trustmanager.algorithm", "PKIX", live=_EACH, no_effect=_JAVA, about="Java only."
    )
    ssl_endpoint_identification_algorithm = Option(
        "ssl.endpoint.identification.algorithm", "https", live=_EACH, importance="low",
        about="https: a peer's certificate must name its host; empty: not checked.",
    )
    ssl_secure_random_implementation: Option[str | None] = Option(
        "ssl.secure.random.implementation", None, kind=Kind.STRING, live=_EACH, importance="low", no_effect=_JAVA,
        about="Java only.",
    )
    ssl_client_auth = Option(
        "ssl.client.auth", "none", one_of("required", "requested", "none"), live=_EACH,
        about="Whether clients must, may or need not show a certificate.",
    )
    ssl_cipher_suites = Option[list[str]](
        "ssl.cipher.suites", [], live=_EACH, about="Cipher suites that are accepted; empty: the library's own choice.",
    )
    ssl_principal_mapping_rules = Option(
        "ssl.principal.mapping.rules", "DEFAULT", importance="low",
        about="How a certificate's distinguished name becomes a principal's name.",
    )
    ssl_engine_factory_class: Option[str | None] = Option(
        "ssl.engine.factory.class", None, kind=Kind.CLASS, live=_EACH, importance="low", about="Java only.",
    )


class SaslServerOptions(OptionTable):
    """Settings of SASL."""

    sasl_mechanism_inter_broker_protocol = Option(
        "sasl.mechanism.inter.broker.protocol", "GSSAPI", live=_EACH, about="Mechanism between brokers.",
    )
    sasl_jaas_config: Option[str | None] = Option(
        "sasl.jaas.config", None, kind=Kind.PASSWORD, live=_EACH, about="Login module and credentials of a listener.",
    )
    sasl_enabled_mechanisms = Option(
        "sasl.enabled.mechanisms", ["GSSAPI"], live=_EACH, about="Mechanisms that clients may use.",
    )
    sasl_server_max_receive_size = Option(
        "sasl.server.max.receive.size", 524_288, unit="bytes", about="Largest message before authentication.",
    )
    sasl_server_callback_handler_class: Option[str | None] = Option(
        "sasl.server.callback.handler.class", None, kind=Kind.CLASS, about="Checks credentials on the broker.",
    )
    sasl_client_callback_handler_class: Option[str | None] = Option(
        "sasl.client.callback.handler.class", None, kind=Kind.CLASS, no_effect="Java classes",
        about="Gives credentials to other brokers.",
    )
    sasl_login_class: Option[str | None] = Option(
        "sasl.login.class", None, kind=Kind.CLASS,
        no_effect="Java classes", about="Class that obtains the login context.",
    )
    sasl_login_callback_handler_class: Option[str | None] = Option(
        "sasl.login.callback.handler.class", None, kind=Kind.CLASS, about="Callback class of the login.",
    )
    sasl_kerberos_service_name: Option[str | None] = Option(
        "sasl.kerberos.service.name", None, kind=Kind.STRING, live=_EACH, about="The brokers' Kerberos service.",
    )
    sasl_kerberos_kinit_cmd = Option(
        "sasl.kerberos.kinit.cmd", "/usr/bin/kinit", live=_EACH, about="Command that renews Kerberos tickets.",
    )
    sasl_kerberos_ticket_renew_window_factor = Option(
        "sasl.kerberos.ticket.renew.window.factor", 0.8, live=_EACH,
        about="Share of a ticket's life after which it is renewed.",
    )
    sasl_kerberos_ticket_renew_jitter = Option(
        "sasl.kerberos.ticket.renew.jitter", 0.05, live=_EACH, about="Random share added to the renewal time.",
    )
    sasl_kerberos_min_time_before_relogin = Option(
        "sasl.kerberos.min.time.before.relogin", 60_000, kind=Kind.LONG, live=_EACH, unit="ms",
        about="Least time between two renewals.",
    )
    sasl_kerberos_principal_to_local_rules = Option(
        "sasl.kerberos.principal.to.local.rules", ["DEFAULT"], live=_EACH,
        about="How a Kerberos principal becomes a short name.",
    )
    sasl_login_refresh_window_factor = Option(
        "sasl.login.refresh.window.factor", 0.8, live=_EACH, about="Share of a token's life after which it is renewed.",
    )
    sasl_login_refresh_window_jitter = Option(
        "sasl.login.refresh.window.jitter", 0.05, live=_EACH, about="Random share added to the renewal time.",
    )
    sasl_login_refresh_min_period_seconds = Option(
        "sasl.login.refresh.min.period.seconds", 60, kind=Kind.SHORT, live=_EACH, unit="s",
        about="Least time between two renewals.",
    )
    sasl_login_refresh_buffer_seconds = Option(
        "sasl.login.refresh.buffer.seconds", 300, kind=Kind.SHORT, live=_EACH, unit="s",
        about="How long before its end a token is renewed at the latest.",
    )


class TokenOptions(OptionTable):
    """Delegation tokens (KIP-48)."""

    delegation_token_master_key: Option[str | None] = Option(
        "delegation.token.master.key", None, kind=Kind.PASSWORD, deprecated=True,
        about="Older name of delegation.token.secret.key.",
    )
    delegation_token_secret_key: Option[str | None] = Option(
        "delegation.token.secret.key", None, kind=Kind.PASSWORD,
        about="Signs delegation tokens; the same on all brokers; unset: no tokens.",
    )
    delegation_token_max_lifetime_ms = Option(
        "delegation.token.max.lifetime.ms", 604_800_000, at_least(1), kind=Kind.LONG, unit="ms",
        about="No token is valid for longer, renewed or not.",
    )
    delegation_token_expiry_time_ms = Option(
        "delegation.token.expiry.time.ms", 86_400_000, at_least(1), kind=Kind.LONG, unit="ms",
        about="How long a token is valid without being renewed.",
    )
    delegation_token_expiry_check_interval_ms = Option(
        "delegation.token.expiry.check.interval.ms", 3_600_000, at_least(1), kind=Kind.LONG, importance="low",
        unit="ms", about="How often expired tokens are removed.",
    )

class PasswordOptions(OptionTable):
    """Encryption of passwords in dynamic settings (KIP-226)."""

    password_encoder_secret: Option[str | None] = Option(
        "password.encoder.secret", None, kind=Kind.PASSWORD, about="Encrypts passwords kept in ZooKeeper.",
    )
    password_encoder_old_secret: Option[str | None] = Option(
        "password.encoder.old.secret", None, kind=Kind.PASSWORD, about="The previous secret.",
    )
    password_encoder_keyfactory_algorithm: Option[str | None] = Option(
        "password.encoder.keyfactory.algorithm", None, kind=Kind.STRING, importance="low",
        about="Derives the key from the secret; unset: PBKDF2WithHmacSHA512.",
    )
    password_encoder_cipher_algorithm = Option(
        "password.encoder.cipher.algorithm", "AES/CBC/PKCS5Padding", importance="low", about="Encrypts the passwords.",
    )
    password_encoder_key_length = Option(
        "password.encoder.key.length", 128, at_least(8), importance="low", unit="bits", about="Length of that key.",
    )
    password_encoder_iterations = Option(
        "password.encoder.iterations", 4096, at_least(1024), importance="low", about="Iterations of key derivation.",
    )


class SecurityOptions(AccessOptions, TlsOptions, SaslServerOptions, TokenOptions, PasswordOptions):
    """Settings of authentication, authorization and encryption."""
