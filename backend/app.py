"""Wiring: from settings to a running instance and its Flask application; every part is made once, here."""

import logging
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from flask import Flask

from . import migrations, sandbox
from .channels.log import EventLog, TabEvents
from .errors import InvalidInput
from .extensions import Database
from .llm.catalogue import Catalogue, CatalogueSettings
from .llm.lessons import QuirkMemory
from .net import Fetcher, FetchSettings
from .net.search import SearchChain, chain_from
from .routes import register_routes
from .services import instance as instance_folder
from .services import lessons, manual, providers
from .services.auth import ensure_owner
from .services.running.children import ChildRuns
from .services.running.execution import Execution
from .services.runtime import Runtime
from .services.workspaces import Workspaces
from .settings import Settings
from .stores import fallback as fallback_log
from .stores.fallback import Fallback
from .stores.leases import Leases
from .stores.writer import RunWriter
from .tools import ToolExecutor, init_tools, register_service, registry
from .workers.local import LocalQueue
from .workers.upkeep import Upkeep
from .workspace import BlobStore

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Instance:
    """One running instance: its runtime, and the parts that are started and stopped."""

    runtime: Runtime
    queue: LocalQueue
    execution: Execution
    children: ChildRuns
    writer: RunWriter
    events: EventLog
    tabs: TabEvents
    upkeep: Upkeep

    def start(self) -> None:
        """Enter what an earlier process could not, end what it left half done by hand or as a child, then work on runs."""
        if entered := self.writer.replay(self.runtime.settings.instance / fallback_log.NAME):
            log.warning("%d records were entered from the fallback log", entered)
        self.writer.fallback.open()
        manual.recover(self.runtime)
        self.children.recover()
        self.queue.start()
        self.upkeep.start()

    def stop(self) -> None:
        """End streams, hand runs over, write what is left, close the database."""
        self.events.close()
        self.tabs.close()
        self.upkeep.stop()
        self.queue.stop()
        self.close()

    def close(self) -> None:
        """Write what is left and let everything go; enough for an instance that was never started."""
        sandbox.close()
        self.writer.close()
        self.runtime.catalogue.close()
        self.runtime.db.close()


def prepare(settings: Settings) -> Settings:
    """Make the instance folder and bring its database up to date; safe to call in a process that will fork."""
    _web(settings)
    settings = instance_folder.prepare(settings)
    database = Database()
    database.open(settings.database)
    try:
        backup = migrations.upgrade(database.engine, settings.instance / "backups")
        if backup:
            log.warning("the database was migrated; a backup of the old one is backups/%s", backup)
        ensure_owner(database)
    finally:
        database.close()
    instance_folder.protect_database(settings)
    return settings


def build(settings: Settings) -> Instance:
    """Wire one instance from prepared settings; nothing runs before `start`."""
    database = Database()
    database.open(settings.database)
    blobs = BlobStore(settings.instance / "blobs")
    fallback = Fallback(settings.instance / fallback_log.NAME)
    writer = RunWriter(database, lambda text: blobs.put(text.encode("utf-8")), fallback)
    events, tabs = EventLog(database), TabEvents()
    writer.on_trouble = partial(tabs.publish_to_all, "storage")
    writer.meters.known["tool"] = lambda name: registry.get(name) is not None
    sandbox.set_requirement(settings.sandbox)
    tool_errors = init_tools(settings.instance / "tools")
    runtime = Runtime(
        settings=settings,
        db=database,
        blobs=blobs,
        queue=_NotWired(),
        events=events,
        tabs=tabs,
        catalogue=Catalogue([], _catalogue_settings(settings, database)),
        executor=ToolExecutor(registry=registry),
        registry=registry,
        tool_errors=tool_errors,
        meters=writer.meters,
    )
    runtime.reload_models = partial(_load_models, runtime)
    runtime.reload_models()
    execution = Execution(runtime, writer, events)
    queue = LocalQueue(execution, Leases(database, f"{socket.gethostname()}:{os.getpid()}"[:60]), settings.runs)
    runtime.queue = queue
    runtime.readiness = partial(_readiness, queue, writer)
    children = ChildRuns(execution)
    _offer_services(runtime, children)
    return Instance(runtime, queue, execution, children, writer, events, tabs, Upkeep(runtime))


def create_app(instance: Instance) -> Flask:
    """The Flask application over an instance."""
    app = Flask("backend", static_folder=None)
    app.extensions["nanoclaw"] = instance.runtime
    register_routes(app)
    return app


def starter(settings: Settings) -> Callable[[], tuple[Flask, Callable[[], None]]]:
    """What the serving process calls: builds and starts the instance; gives the app and how to stop it."""

    def start() -> tuple[Flask, Callable[[], None]]:
        instance = build(settings)
        app = create_app(instance)
        instance.start()
        return app, instance.stop

    return start


class _NotWired:
    """Stands where the queue will be: the queue needs the runtime, and the runtime the queue."""

    def submit(self, run_id: str) -> None:
        raise RuntimeError("the queue is not wired yet")

    def cancel(self, run_id: str) -> dict[str, Any]:
        raise RuntimeError("the queue is not wired yet")

    def look_again(self) -> None:
        raise RuntimeError("the queue is not wired yet")


def _load_models(runtime: Runtime) -> None:
    runtime.catalogue.reload(providers.configs(runtime))


def _catalogue_settings(settings: Settings, database: Database) -> CatalogueSettings:
    return CatalogueSettings(
        models_file=settings.instance / "models.toml",
        memory=QuirkMemory(*lessons.kept_in(database)),
        total_timeout=settings.llm_timeout,
        idle_timeout=settings.llm_idle_timeout,
    )


def _offer_services(runtime: Runtime, children: ChildRuns) -> None:
    fetching, search = _web(runtime.settings)
    register_service("workspaces", Workspaces(runtime))
    register_service("fetcher", Fetcher(fetching))
    register_service("search", search)
    register_service("runs", children)
    register_service("llm_client", runtime.catalogue)


def _web(settings: Settings) -> tuple[FetchSettings, SearchChain]:
    """What the web tools are set to. Raises InvalidInput that names a bad setting."""
    named = {
        "NANOCLAW_FETCH_ALLOW": ",".join(settings.fetch_allow),
        "NANOCLAW_FETCH_PROXY": settings.fetch_proxy or "",
        "NANOCLAW_SEARCH_URL": settings.search_url or "",
    }
    try:
        return FetchSettings.from_environment(named, frozenset({settings.port})), chain_from(named)
    except ValueError as fault:
        raise InvalidInput(str(fault)) from fault


def _readiness(queue: LocalQueue, writer: RunWriter) -> dict[str, Any]:
    waiting = writer.fallback.count()
    return {
        "queue": queue.depth(),
        "sandbox": sandbox.walls(),
        "database": {"revision": migrations.head(), "records_waiting": waiting},
    }
