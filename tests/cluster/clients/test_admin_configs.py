"""The admin client changes settings of topics and brokers, and levels of loggers."""

from kafka_py.base.errors import ErrorCode
from kafka_py.clients import AdminClient, AlterConfig, AlterOperation, ConfigResource, ConfigResourceType, NewTopic
from kafka_py.clients.admin.resources import ConfigSource

LOGGER = ConfigResource(ConfigResourceType.BROKER_LOGGER, "0")
BROKER = ConfigResource(ConfigResourceType.BROKER, "0")
NAME = "kafka.network.Acceptor"


def own(admin: AdminClient, resource: ConfigResource) -> dict[str, str | None]:
    found = admin.describe_configs([resource]).value(resource)
    return {name: each.value for name, each in found.items() if each.source is ConfigSource.DYNAMIC_TOPIC_CONFIG}


def test_single_settings_of_a_topic(bootstrap: str) -> None:
    topic = ConfigResource(ConfigResourceType.TOPIC, "admin-single")
    with AdminClient({"bootstrap.servers": bootstrap}) as admin:
        admin.create_topics([NewTopic(topic.name, 1, 1, configs={"retention.ms": "1000"})]).all()
        changes = [
            AlterConfig("segment.bytes", "5000"),
            AlterConfig("cleanup.policy", "compact", AlterOperation.APPEND),
            AlterConfig("retention.ms", None, AlterOperation.DELETE),
        ]
        admin.incremental_alter_configs({topic: changes}, validate_only=True).all()
        assert own(admin, topic) == {"retention.ms": "1000"}
        admin.incremental_alter_configs({topic: changes}).all()
        assert own(admin, topic) == {"segment.bytes": "5000", "cleanup.policy": "delete,compact"}
        admin.alter_configs({topic: {"flush.ms": "7"}}).all()
        assert own(admin, topic) == {"flush.ms": "7"}


def test_each_resource_has_its_own_outcome(bootstrap: str) -> None:
    nowhere = ConfigResource(ConfigResourceType.TOPIC, "no-such-topic")
    with AdminClient({"bootstrap.servers": bootstrap}) as admin:
        results = admin.incremental_alter_configs(
            {
                LOGGER: [AlterConfig(NAME, "WARN")],
                BROKER: [AlterConfig("log.dirs", "/x")],
                nowhere: [AlterConfig("flush.ms", "7")],
            }
        )
        assert results[LOGGER] is None
        codes = {resource: error.code for resource, error in results.errors().items()}
        assert codes == {BROKER: ErrorCode.INVALID_REQUEST, nowhere: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        assert admin.describe_configs([LOGGER]).value(LOGGER)[NAME].value == "WARN"
        admin.incremental_alter_configs({LOGGER: [AlterConfig(NAME, None, AlterOperation.DELETE)]}).all()
        assert admin.describe_configs([LOGGER]).value(LOGGER)[NAME].value == "INFO"
