"""What a broker's listener asks of clients that log in, from the broker's settings.

A setting is looked up with the prefix of listener and mechanism, then with that of the listener, then without.
Source: KIP-103, KIP-255, KIP-368; SaslChannelBuilder, BrokerSecurityConfigs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.base.errors import ConfigError
from kafka_py.base.options import MAX_LONG
from kafka_py.net.principal import Principal
from kafka_py.security.sasl.callbacks import load_callback
from kafka_py.security.sasl.jaas import LoginModule, server_modules
from kafka_py.security.sasl.kerberos_names import parse_principal, parse_rules, short_name
from kafka_py.security.sasl.kerberos_settings import KERBEROS_MODULE, SERVICE_NAME, acceptor_entry, service_name
from kafka_py.security.sasl.mechanisms import (
    GSSAPI,
    OAUTHBEARER,
    PLAIN,
    SCRAM_SHA_256,
    SCRAM_SHA_512,
    SUPPORTED,
    Identity,
    ServerMechanism,
)
from kafka_py.security.sasl.oauth.options import oauth_options
from kafka_py.security.sasl.oauth.token_checks import SETTING as KEYS_SETTING
from kafka_py.security.sasl.oauth.token_checks import SignedTokenChecks
from kafka_py.security.sasl.oauth_tokens import BearerToken, check_validator_options, validate_unsecured
from kafka_py.security.sasl.oauthbearer import OAuthBearerServer, TokenCheck
from kafka_py.security.sasl.plain import PlainServer, StoredPasswords
from kafka_py.security.sasl.scram import ScramServer
from kafka_py.security.sasl.scram_credentials import random_text
from kafka_py.security.sasl.scram_users import ScramUsers
from kafka_py.security.sasl.server_exchange import LoginRules

MODULES = {
    PLAIN: "org.apache.kafka.common.security.plain.PlainLoginModule",
    SCRAM_SHA_256: "org.apache.kafka.common.security.scram.ScramLoginModule",
    SCRAM_SHA_512: "org.apache.kafka.common.security.scram.ScramLoginModule",
    OAUTHBEARER: "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
    GSSAPI: KERBEROS_MODULE,
}
"""The login module of each mechanism, as login entries name it."""

_PRINCIPAL_RULES = "sasl.kerberos.principal.to.local.rules"
_HANDLER = "sasl.server.callback.handler.class"
_OAUTH = "org.apache.kafka.common.security.oauthbearer"
UNSECURED_VALIDATOR = f"{_OAUTH}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
SIGNED_VALIDATORS = (
    f"{_OAUTH}.OAuthBearerValidatorCallbackHandler", f"{_OAUTH}.secured.OAuthBearerValidatorCallbackHandler",
)  # fmt: skip
_OWN_HANDLERS = (
    "org.apache.kafka.common.security.plain.internals.PlainServerCallbackHandler",
    "org.apache.kafka.common.security.scram.internals.ScramServerCallbackHandler",
    UNSECURED_VALIDATOR,
    *SIGNED_VALIDATORS,
)
"""Java classes whose work is done here without being named."""

Sections = Mapping[str, list[LoginModule]]


class LoginSources(NamedTuple):
    """Where the mechanisms of a broker get what they need. sections: of the login file."""

    users: ScramUsers
    chance: Chance
    clock: Clock
    signed_tokens: SignedTokenChecks
    sections: Sections = {}  # nobody changes it


class ListenerSettings:
    """Looks settings of one listener up."""

    def __init__(self, properties: Mapping[str, object], listener: str) -> None:
        self.properties = properties
        self.listener = listener
        self._prefix = f"listener.name.{listener.lower()}."

    def text(self, name: str, mechanism: str | None = None) -> str | None:
        """The value as written; None where it is not set."""
        found = self.found(name, mechanism)
        return None if found is None else found[1]

    def found(self, name: str, mechanism: str | None = None) -> tuple[str, str] | None:
        """The full name under which a setting is given, and its value."""
        names = [self._prefix + name, name]
        if mechanism is not None:  # the prefix of a mechanism counts behind that of a listener only
            names.insert(0, f"{self._prefix}{mechanism.lower()}.{name}")
        for each in names:
            value = self.properties.get(each)
            if value is not None:
                return each, str(value)
        return None

    def number(self, name: str, default: int, mechanism: str | None = None, *, most: int = MAX_LONG) -> int:
        """most: of the type of the setting. Raises ConfigError."""
        found = self.found(name, mechanism)
        if found is None:
            return default
        try:
            value = int(found[1])
        except ValueError:
            raise ConfigError(f"Invalid value {found[1]} for configuration {found[0]}: Not a number") from None
        if not -most <= value <= most:
            raise ConfigError(f"Invalid value {found[1]} for configuration {found[0]}: Too large for its type")
        return value


def enabled_mechanisms(settings: ListenerSettings) -> list[str]:
    """The mechanisms of a listener. Raises ConfigError for one that is not supported."""
    text = settings.text("sasl.enabled.mechanisms")
    names = [each.strip() for each in (GSSAPI if text is None else text).split(",") if each.strip()]
    for name in names:
        if name not in SUPPORTED:
            raise ConfigError(
                f"sasl.enabled.mechanisms of listener {settings.listener}: {name} is not available; "
                f"supported are {', '.join(SUPPORTED)}"
            )
    return list(dict.fromkeys(names))


def login_rules(settings: ListenerSettings, sources: LoginSources) -> LoginRules:
    """What the listener asks of clients. Raises ConfigError."""
    enabled = enabled_mechanisms(settings)
    make = {name: _maker(name, settings, sources) for name in enabled}
    max_session_ms = {name: settings.number("connections.max.reauth.ms", 0, name) for name in enabled}
    return LoginRules(tuple(enabled), make, user_principal, max_session_ms)


def user_principal(identity: Identity) -> Principal:
    """The principal of type User with the name of the identity."""
    return Principal("User", identity.name)


def _maker(name: str, settings: ListenerSettings, sources: LoginSources) -> Callable[[], ServerMechanism]:
    modules = server_modules(settings.properties, settings.listener, name, sources.sections)
    options = module_options(name, modules, settings.listener)
    if name == GSSAPI:
        return _kerberos_maker(options, settings)
    misplaced = f"{name.lower()}.{_HANDLER}"
    if misplaced in settings.properties:  # whoever wrote it must not find that nothing checks credentials
        raise ConfigError(f"{misplaced} has no effect: listener.name.{settings.listener.lower()}. must precede it")
    found = settings.found(_HANDLER, name)
    callback = None if found is None or found[1] in _OWN_HANDLERS else load_callback(*found)
    if name == PLAIN:
        stored = StoredPasswords(options)
        return lambda: PlainServer(stored, callback)
    if name == OAUTHBEARER:
        return _bearer_maker(options, callback, found, settings, sources)
    if found is not None and callback is not None:
        raise ConfigError(f"{found[0]}: {name} takes its credentials from ZooKeeper")
    return lambda: ScramServer(name, sources.users.find, random_text(sources.chance))


def _bearer_maker(
    options: Mapping[str, str], callback: Any, handler: tuple[str, str] | None, settings: ListenerSettings,
    sources: LoginSources,
) -> Callable[[], ServerMechanism]:  # fmt: skip
    """callback: a user's own check. handler: setting and value that name a check. Raises ConfigError."""
    if callback is not None:
        check_extensions = getattr(callback, "check_extensions", None)
        more = {} if check_extensions is None else {"check_extensions": check_extensions}
        return partial(OAuthBearerServer, callback, **more)
    found = settings.found(KEYS_SETTING, OAUTHBEARER)
    keys = None if found is None or not found[1].strip() else found
    if keys is not None:
        if handler is not None and handler[1] == UNSECURED_VALIDATOR:
            raise ConfigError(f"{handler[0]} takes unsigned tokens, but {keys[0]} names keys: remove one of the two")
        values = oauth_options(lambda name: settings.text(name, OAUTHBEARER))
        return partial(OAuthBearerServer, sources.signed_tokens.check(keys[0], values, options))
    if handler is not None and handler[1] in SIGNED_VALIDATORS:
        raise ConfigError(f"{handler[0]} checks signed tokens, but {KEYS_SETTING} names no keys")
    check_validator_options(options)
    return partial(OAuthBearerServer, _unsecured_check(options, sources.clock), is_quick=True)


def _kerberos_maker(options: Mapping[str, str], settings: ListenerSettings) -> Callable[[], ServerMechanism]:
    """Raises ConfigError."""
    from kafka_py.security.sasl.gssapi_exchange import GssapiServer
    from kafka_py.security.sasl.kerberos_library import KerberosLibrary

    library = KerberosLibrary(f"sasl.enabled.mechanisms of listener {settings.listener}")
    entry = acceptor_entry(options)
    service_name(options, settings.text(SERVICE_NAME, GSSAPI))
    texts = settings.text(_PRINCIPAL_RULES, GSSAPI) or "DEFAULT"
    rules = parse_rules([each for each in texts.split(",") if each.strip()])
    realm, acceptor = library.default_realm(), library.acceptor(entry)

    def named(principal: str) -> str:
        return short_name(parse_principal(principal), rules, realm)

    return lambda: GssapiServer(library.begin_accepting(acceptor), named)


def module_options(mechanism: str, modules: Sequence[LoginModule], listener: str) -> Mapping[str, str]:
    """The options of the mechanism's own module. Raises ConfigError when no entry is for it."""
    for module in modules:
        if module.module == MODULES[mechanism]:
            return module.options
    raise ConfigError(
        f"The login of listener {listener} for {mechanism} has no module {MODULES[mechanism]}, "
        f"only {', '.join(module.module for module in modules)}"
    )


def _unsecured_check(options: Mapping[str, str], clock: Clock) -> TokenCheck:
    def check(token: str) -> BearerToken:
        return validate_unsecured(token, options, clock.wall_ms())

    return check
