"""The store: all typed reads and writes of the cluster's state over one session, one part per subject.

Parts: access.py (fencing, recursive create and delete, raw reads), brokers.py (registration, broker and
cluster ids), election.py (the controller role), topics.py (assignments, creation, deletion), partitions.py (leader
and ISR), entity_configs.py (overrides), notifications.py (ISR changes, log dir events, the change listener),
admin.py (the old tools' request nodes, producer ids, features), consumers.py (offsets of old consumers), acls.py
(access control lists), tokens.py (delegation tokens).

Conventions: reads of a missing znode return None or leave it out; unreadable data raises MalformedZNode unless the
docstring says that it is logged; rejected writes raise the ZkError of session.py; a write fenced with
`epoch_zk_version` raises ControllerMoved; batches are pipelined. Source: docs/reference/zookeeper.md, sections 3 and 4.
"""

from kafka_py.zk.access import ZkAccess
from kafka_py.zk.acls import AclStore
from kafka_py.zk.admin import AdminStore
from kafka_py.zk.brokers import BrokerStore
from kafka_py.zk.consumers import OldConsumerStore
from kafka_py.zk.election import ElectionStore
from kafka_py.zk.entity_configs import ConfigStore
from kafka_py.zk.notifications import NotificationStore
from kafka_py.zk.partitions import PartitionStore
from kafka_py.zk.session import ZkSession
from kafka_py.zk.tokens import TokenStore
from kafka_py.zk.topics import TopicStore


class ZkStore:
    """All parts together, as in `store.topics.create("t", assignment)`; the module docstring lists them.

    session: used by all parts. znodes: reads and writes by path, on which the other parts are based.
    """

    def __init__(self, session: ZkSession) -> None:
        self.session = session
        self.znodes = ZkAccess(session)
        self.brokers = BrokerStore(self.znodes)
        self.election = ElectionStore(self.znodes)
        self.topics = TopicStore(self.znodes)
        self.partitions = PartitionStore(self.znodes)
        self.configs = ConfigStore(self.znodes)
        self.notifications = NotificationStore(self.znodes)
        self.admin = AdminStore(self.znodes)
        self.old_consumers = OldConsumerStore(self.znodes)
        self.acls = AclStore(self.znodes)
        self.tokens = TokenStore(self.znodes)
