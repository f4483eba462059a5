"""A broker of Apache Kafka 0.10.2.2 as a process."""

from kafka_py.testing.broker import AnyBroker
from kafka_py.testing.peers import apache
from kafka_py.testing.peers.apache import QUICK_JVM
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.wire.messages.metadata import MetadataRequest


class OldBroker(AnyBroker):
    """A broker of Apache Kafka 0.10.2.2; reflection that its Java allowed has to be allowed again."""

    def __init__(self, folder, zookeeper_connect, **options):
        reflection = ("--add-exports=java.base/sun.nio.ch=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
                      "--add-opens=java.base/java.nio=ALL-UNNAMED")  # fmt: skip
        program = apache.old_kafka().command("kafka.Kafka", jvm=(*QUICK_JVM, *reflection), log_level="INFO")
        super().__init__(program, folder, zookeeper_connect, {}, options)

    def wait_started(self, timeout_s=60):
        self.wait_for_output(f"[Kafka Server {self.broker_id}], started", timeout_s)
        self.wait_for(self._knows_itself, timeout_s, "the cluster's metadata")
        return self

    def _knows_itself(self):
        with WireClient(self.bootstrap) as client:
            return client.ask(MetadataRequest(topics=[]), 1).brokers
