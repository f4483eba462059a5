"""The server: starts and stops a broker in Kafka's order (I/O).

Clock, files, ZooKeeper session and network are passed in. Handlers use the Node, which assembly.py creates.
Source: docs/reference/zookeeper.md, section 15; docs/reference/log.md, sections 12 and 17.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from enum import IntEnum
from functools import partial

from kafka_py.base.ids import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.supervision import Supervisor
from kafka_py.base.timers import Timers
from kafka_py.base.turns import sliced
from kafka_py.broker.assembly import assemble
from kafka_py.broker.controlled_shutdown import leave_in_order
from kafka_py.broker.dynamic_listeners import DynamicListeners
from kafka_py.broker.log_dir_failures import LogDirFailures
from kafka_py.broker.observe.instruments import Observation
from kafka_py.broker.observe.metrics import AppInfo, measure_server
from kafka_py.broker.observe.startup_report import Started, report_lines, version_line
from kafka_py.broker.quotas.broker_quotas import BrokerQuotas
from kafka_py.broker.quotas.quota_metrics import measure_quotas
from kafka_py.broker.registration import Registration
from kafka_py.broker.requests.dispatch import Dispatcher
from kafka_py.broker.requests.login_answers import ConnectionAnswers
from kafka_py.broker.requests.node import Node
from kafka_py.broker.settings.config_changes import ConfigChanges
from kafka_py.broker.settings.configs import BrokerConfig, warnings_of
from kafka_py.broker.settings.live_config import LiveConfig
from kafka_py.broker.settings.topic_configs import TopicConfigs
from kafka_py.broker.wiring.authority import make_authorizer
from kafka_py.broker.wiring.background import CountedBackground, ResizablePool
from kafka_py.broker.wiring.broker_environment import BrokerEnvironment
from kafka_py.broker.wiring.logins import BrokerLogins
from kafka_py.broker.wiring.server_environment import ServerEnvironment
from kafka_py.broker.wiring.tokens import BrokerTokens
from kafka_py.broker.wiring.zookeeper_sessions import broker_session
from kafka_py.controller.controller import Controller
from kafka_py.log.disk.files import open_files_limit
from kafka_py.log.disk.handles import handles_within
from kafka_py.log.loading.meta_properties import MetaProperties, check_cluster_id, choose_broker_id
from kafka_py.log.log_manager import LogManager
from kafka_py.net.socket_server import RequestService, SocketServer
from kafka_py.wire.apis import size_fault
from kafka_py.zk.metrics import measure
from kafka_py.zk.notifications import NotificationListener, config_change_listener
from kafka_py.zk.session import SessionState, ZkSession
from kafka_py.zk.store import ZkStore

_log = logging.getLogger(__name__)

_CONTROLLER_STOP_S = 10.0


class BrokerState(IntEnum):
    """State of the broker; the numbers are those of the metric."""

    NOT_RUNNING = 0
    STARTING = 1
    RECOVERING = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7


class KafkaServer:
    """One broker: `start`, then `shutdown`; `failed` is done when all its log directories have failed.

    environment: default: that of the machine.
    """

    node: Node

    def __init__(self, config: BrokerConfig, environment: ServerEnvironment | None = None) -> None:
        given = environment or ServerEnvironment()
        self.config = config
        self.state = BrokerState.NOT_RUNNING
        self.cluster_id: str | None = None
        self.broker_id = config.broker_id
        self.clock = given.clock
        self.registry = MetricRegistry(self.clock)
        self.loop = asyncio.get_running_loop()
        self.failed: asyncio.Future[str] = self.loop.create_future()
        self._outside = given
        self._session: ZkSession = broker_session(config, given)
        self.store = ZkStore(self._session)
        self._timers = Timers(self.clock, self.loop.call_later)
        self._executor = given.executor or ResizablePool(config.num_io_threads, "kafka-io")
        self._background = CountedBackground(self._executor, self.loop)
        self._cleaner_pool = ResizablePool(config.log_cleaner_threads, "kafka-log-cleaner")
        self._cleaner_background = CountedBackground(given.executor or self._cleaner_pool, self.loop)
        self._live = LiveConfig(config, given.chance)
        self._topic_configs = TopicConfigs(config)
        self._quotas = BrokerQuotas(config, self.clock)
        self._logins = BrokerLogins(given, ConnectionAnswers)
        self._log_dirs: LogManager | None = None
        self._controller: Controller | None = None
        self._sockets: SocketServer | None = None
        self.dispatcher: Dispatcher | None = None
        self._listener: NotificationListener | None = None
        self._registration: Registration | None = None
        self.supervisor = Supervisor(self.clock)
        self._authorizer = make_authorizer(config, self.store.acls, given, self.supervisor)
        self._tokens = BrokerTokens(
            config, self.store.tokens, self.clock, given.chance, self.supervisor, self._timers.schedule
        )
        self._logins.users.find_token = self._tokens.find_login
        self._listeners = DynamicListeners(config, self.supervisor)
        self._failures = LogDirFailures(lambda: self.node, self.store.notifications, self.supervisor, self.failed)
        self._session.supervise(self.supervisor)
        self._started_ms = self.clock.wall_ms()
        self._began_ms = self.clock.monotonic_ms()
        process = measure_server(self, self.registry, given.watch, self._started_ms)
        self.observation = Observation(
            config, self.registry, process, self.clock, self._executor, self.supervisor
        )

    @property
    def ports(self) -> dict[str, int]:
        """The bound ports by listener; empty until the broker has started."""
        return self._listeners.ports

    # ---- start-up

    async def start(self) -> None:
        """Starts the broker, or releases everything and raises ConfigError, BindFailed, ZkError, LogDirError ..."""
        self.state = BrokerState.STARTING
        try:
            await self._start()
        except BaseException:
            await self._abandon()
            raise
        self.state = BrokerState.RUNNING
        for line in report_lines(self._report()):
            _log.info(line)
        _log.info("[KafkaServer id=%d] started", self.broker_id)

    def _report(self) -> Started:
        assert self._log_dirs is not None and self._registration is not None
        return Started(
            self.broker_id, self.cluster_id or "", self._registration.endpoints, self._log_dirs.loaded,
            self.observation.address, self.clock.monotonic_ms() - self._began_ms,
        )  # fmt: skip

    async def _start(self) -> None:
        _log.info(version_line())
        for warning in warnings_of(self.config):
            _log.warning(warning)
        await self.observation.start(self._every)
        measure(self._session, self.registry)
        await self._session.connect()
        await self.store.brokers.ensure_top_level_paths()
        self.cluster_id = await self.store.brokers.cluster_id_or_create(self._outside.chance.new_uuid)
        _log.info("Cluster ID = %s", self.cluster_id)
        log_dirs = self._log_dirs = self._open_log_dirs()
        self.broker_id = await self._find_broker_id(log_dirs)
        AppInfo(self.registry, self._started_ms, id=str(self.broker_id))
        changes = self._config_changes(log_dirs)
        load_configs = partial(changes.load, self._quotas.load, self._logins.load)
        await load_configs()
        await self._authorizer.start()
        self._listeners.read(self._live.current)
        self._logins.reconfigure(self._live.current)
        self.state = BrokerState.RECOVERING
        await self.loop.run_in_executor(self._executor, log_dirs.load, self._topic_configs.of)
        self.state = BrokerState.STARTING
        env = await self._environment()
        self.node = assemble(env, log_dirs, self._register_again, changes.apply)
        self._controller = self.node.controller
        dispatcher = self.dispatcher = Dispatcher(self.node, self.node.request_metrics)
        exchanges = self.node.request_metrics.exchanges
        self.observation.trace(exchanges, self.broker_id, self.cluster_id, self._outside.chance)
        dispatcher.throttle_when_on(self._timers.schedule)
        measure_quotas(self.registry, self.node.quotas)
        sockets = self._sockets = SocketServer(
            self._live.current,
            self._listeners.listening,
            RequestService(dispatcher.on_request, dispatcher.on_sent, size_fault, self._logins.security_of),
            loop=self.loop, clock=self.clock, registry=self.registry, executor=self._executor,
            watch=self._outside.watch, supervisor=self.supervisor, network=self._outside.network,
            addresses=self._quotas.addresses, chance=self._outside.chance,
        )  # fmt: skip
        sockets.on_disconnect(dispatcher.on_disconnect)
        self._listeners.bind(sockets)
        advertised = self._listeners.advertised()
        self._registration = Registration(self.store.brokers, self.broker_id, advertised, self.config, self.clock)
        self.node.begin_epoch(await self._registration.register_first())
        log_dirs.write_meta(MetaProperties(self.broker_id, self.cluster_id))
        await self._tokens.start()
        await self.node.controller.start()
        await self.node.producer_ids.claim_first()
        self._listener = config_change_listener(
            self.store.znodes, changes.apply, self.clock, self.supervisor, on_gap=load_configs
        )
        await self._listener.start()
        self._start_tasks()
        sockets.start()
        # Scripts wait for "started"; clients that connect then should get the metadata of the cluster.
        await self.node.wait_cluster_known()

    def _open_log_dirs(self) -> LogManager:
        log_dirs = LogManager(
            self.config,
            self._outside.files,
            self.clock,
            self._outside.chance,
            background=self._background, cleaner_background=self._cleaner_background,
            later=self._timers.schedule, on_failure=self._failures.on_failure,
            producer_expiration_ms=self.config.transactional_id_expiration_ms, flush_in_append=False,
            max_open_handles=handles_within(open_files_limit()),
            metrics=self.registry, supervisor=self.supervisor,
        )  # fmt: skip
        log_dirs.open()
        return log_dirs

    async def _find_broker_id(self, log_dirs: LogManager) -> int:
        """The configured, stored or generated broker id. Raises InconsistentBrokerId, InconsistentClusterId."""
        assert self.cluster_id is not None
        config = self.config
        meta = log_dirs.read_meta()
        check_cluster_id(meta.cluster_id, self.cluster_id)
        generates = config.broker_id_generation_enable
        chosen = choose_broker_id(config.broker_id, meta.broker_id, generation_enabled=generates)
        return await self.store.brokers.generate_id(config.reserved_broker_max_id) if chosen is None else chosen

    def _config_changes(self, log_dirs: LogManager) -> ConfigChanges:
        return ConfigChanges(
            self.broker_id,
            stored=self.store.configs,
            live=self._live,
            topics=self._topic_configs,
            log_dirs=log_dirs,
            controller=lambda: self._controller,
            on_broker_config=self._take_config,
            on_quotas=self._quotas.apply,
            on_user=self._logins.users.change,
            on_repeated=self._logins.reload,
        )

    async def _take_config(self, config: BrokerConfig) -> None:
        """Applies the broker's settings in all parts; also called at start-up, before most parts exist."""
        await self._topic_configs.set_broker(config)
        if isinstance(self._executor, ResizablePool):
            self._executor.resize(config.num_io_threads)
        if self._log_dirs is not None:
            self._log_dirs.cleaner.reconfigure(config)
            self._cleaner_pool.resize(config.log_cleaner_threads)
            async for logs in sliced(list(self._log_dirs.all_logs())):
                for partition_log in logs:
                    partition_log.reconfigure(self._topic_configs.of(partition_log.topic_partition.topic))
        if self._controller is not None:
            self._controller.reconfigure(config)
            self.node.replication.reconfigure(config)
        if self._sockets is not None and self._registration is not None:  # last: it fails if a port is in use
            try:
                await self._sockets.reconfigure(config)
            finally:  # neither waits until the other has settings that can be used
                await self._logins.reload(config)
            self._listeners.relisten(self._sockets, self._registration, config)

    async def _environment(self) -> BrokerEnvironment:
        topics = self.store.topics
        offsets_partitions, transaction_partitions, names = await asyncio.gather(
            topics.partition_count(GROUP_METADATA_TOPIC),
            topics.partition_count(TRANSACTION_STATE_TOPIC),
            topics.names(),
        )
        assert self.cluster_id is not None
        return BrokerEnvironment(
            broker_id=self.broker_id,
            cluster_id=self.cluster_id,
            live=self._live,
            topic_configs=self._topic_configs,
            listening=self._listeners.listening,
            outside=self._outside,
            timers=self._timers,
            loop=self.loop,
            registry=self.registry,
            store=self.store,
            executor=self._executor,
            supervisor=self.supervisor,
            quotas=self._quotas.clients,
            authorizer=self._authorizer,
            logins=self._logins,
            tokens=self._tokens,
            offsets_partitions=offsets_partitions or self.config.offsets_topic_num_partitions,
            transaction_partitions=transaction_partitions or self.config.transaction_state_log_num_partitions,
            had_topics=bool(names),
        )

    async def _register_again(self) -> None:
        """Registers the broker in a new ZooKeeper session; requests with the previous broker epoch are stale then."""
        assert self._registration is not None
        self.node.begin_epoch(await self._registration.register())

    def _start_tasks(self) -> None:
        assert self._log_dirs is not None
        self._log_dirs.start_tasks()
        replication, checkpoint_ms = self.node.replication, self.config.replica_high_watermark_checkpoint_interval_ms
        self._every(checkpoint_ms, replication.notice_log_starts, "notice of log starts")
        self._every(checkpoint_ms, self._checkpoint_high_watermarks, "checkpoint of high watermarks")
        self.node.coordinators.start(self._every)
        self._quotas.start(self._every, self.supervisor)
        replication.start(self._every)

    def _every(self, interval_ms: float, work: Callable[[], object], activity: str) -> None:
        self.supervisor.every(self._timers.schedule, interval_ms, work, activity)

    def _checkpoint_high_watermarks(self) -> None:
        """Not before the first LeaderAndIsr: until then the high watermarks are those of the checkpoint."""
        if self.node.roles.heard_from_controller:
            self.node.log_dirs.checkpoint_high_watermarks()

    # ---- shutdown

    async def shutdown(self) -> None:
        """Stops in order: moves leaders away, stops serving requests, closes the logs and the ZooKeeper session."""
        if self.state is not BrokerState.RUNNING:
            return
        _log.info("[KafkaServer id=%d] shutting down", self.broker_id)
        if self.config.controlled_shutdown_enable and self._session.state is SessionState.CONNECTED:
            self.state = BrokerState.PENDING_CONTROLLED_SHUTDOWN
            between = self._listeners.listening.inter_broker_listener
            await leave_in_order(
                self.store, self.broker_id, lambda: self.node.broker_epoch, self.config, between,
                network=self._outside.network, clock=self.clock, security=self._logins.security_to(between),
            )  # fmt: skip
        self.state = BrokerState.SHUTTING_DOWN
        await self.observation.close()
        await self._stop_serving()
        await self._stop_controller()
        await self._close_logs()
        await self._session.close()
        self.state = BrokerState.NOT_RUNNING
        _log.info("[KafkaServer id=%d] shut down completed", self.broker_id)

    async def _stop_serving(self) -> None:
        assert self._sockets is not None and self.dispatcher is not None
        self._sockets.stop_accepting()
        if self._listener is not None:
            await self._listener.stop()
        await self._authorizer.close()
        await self._tokens.close()
        self._logins.close()
        await self.node.replication.close()
        self.node.coordinators.close()
        await self.dispatcher.drain()
        self.node.replicas.close()
        self.node.topic_waits.close()
        self._quotas.clients.close()
        self.node.election_waits.close()
        await asyncio.sleep(0)  # the last flush of the connections includes responses that were just completed
        self._sockets.close()

    async def _stop_controller(self) -> None:
        assert self._controller is not None
        try:
            async with asyncio.timeout(_CONTROLLER_STOP_S):
                await self._controller.shutdown()
        except TimeoutError:
            _log.warning("The controller did not stop within %.0f s, continuing without it", _CONTROLLER_STOP_S)

    async def _close_logs(self) -> None:
        """Flushes and closes the logs; only a directory whose logs all closed without error is marked clean."""
        assert self._log_dirs is not None
        self._log_dirs.cleaner.stop()
        self._timers.close()
        await self._cleaner_background.wait_idle()
        await self._background.wait_idle()
        self.supervisor.cancel()
        self._log_dirs.shutdown()
        self._executor.shutdown(wait=True)
        self._cleaner_pool.shutdown(wait=True)

    async def _abandon(self) -> None:
        """Releases everything after a failed start, without writing to disk."""
        self.state = BrokerState.NOT_RUNNING
        await self.observation.close()
        if self._sockets is not None:
            self._sockets.close()
        if self._listener is not None:
            await self._listener.stop()
        await self._authorizer.close()
        await self._tokens.close()
        if self._controller is not None:
            await self.node.replication.close()  # exists as soon as the controller does
            await self._stop_controller()
        self._timers.close()
        self.supervisor.cancel()
        if self._log_dirs is not None:
            self._log_dirs.abandon()
        self._executor.shutdown(wait=False)
        self._cleaner_pool.shutdown(wait=False)
        await self._session.close()
