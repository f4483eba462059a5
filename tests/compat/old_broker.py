"""A broker of Apache Kafka 0.10.2.2 or 1.1.1 as a process."""

from kafka_py.testing.broker import AnyBroker
from kafka_py.testing.peers import apache
from kafka_py.testing.peers.apache import QUICK_JVM
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.wire.messages.metadata import MetadataRequest


class OldBroker(AnyBroker):
    """An old broker of Apache Kafka; reflection that its Java allowed has to be allowed again."""

    def __init__(self, folder, zookeeper_connect, version="0.10.2.2", **options):
        reflection = ("--add-exports=java.base/sun.nio.ch=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
                      "--add-opens=java.base/java.nio=ALL-UNNAMED")  # fmt: skip
        program = apache.old_kafka(version).command("kafka.Kafka", jvm=(*QUICK_JVM, *reflection), log_level="INFO")
        super().__init__(program, folder, zookeeper_connect, {}, options)
        kind = f"[Kafka Server {self.broker_id}]," if version.startswith("0.") else f"[KafkaServer id={self.broker_id}]"
        self._started = f"{kind} started"

    def wait_started(self, timeout_s=60):
        self.wait_for_output(self._started, timeout_s)
        self.wait_for(self._knows_itself, timeout_s, "the cluster's metadata")
        return self

    def _knows_itself(self):
        with WireClient(self.bootstrap) as client:
            return client.ask(MetadataRequest(topics=[]), 1).brokers
