"""A small operator that reacts to a topology change: one replica on a single node, two everywhere else.

    python docs/examples/react_to_topology.py --namespace openshift-example --deployment example --operator example

It follows Infrastructure `cluster` for as long as it runs, because the topology may change at any time, and acts on
status only: spec is a request that may be refused, wait for hours or be cancelled. Following and acting are two tasks
with one value between them, the latest view. So a burst of changes is one reaction, and a reaction that fails is tried
again with what is true then. docs/development/for-operator-authors.md has the reasons; a test runs this file through
whole transitions.

Needs kubernetes-asyncio, and topology-api for what the values mean.
"""

# ruff: noqa: INP001 - an example stands by itself

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import random
import signal
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import aiohttp
from kubernetes_asyncio import client, config

from topology_api import view as views

LOG = logging.getLogger("react-to-topology")
SINGLE, SEVERAL = 1, 2
CALL_SECONDS = 10.0
WATCH_SECONDS = 300
SILENCE_SECONDS = 90.0
"""A bookmark comes about every minute; a watch that says nothing for longer than this is dead."""
PAUSES = (0.5, 30.0)
"""Shortest and longest pause after a failure, in seconds."""
LOOK_AGAIN = {True: 300.0, False: 2.0}
"""Seconds until the next look without news: rarely when all is done, often while pods are on their way."""
MERGE = "application/merge-patch+json"
GROUP = ("config.openshift.io", "v1")


class WatchError(Exception):
    """A watch that has to begin anew. `code` is the HTTP status; 410 means that its version is forgotten."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


FAILURES = (client.ApiException, aiohttp.ClientError, TimeoutError, ValueError, LookupError, WatchError)
"""Everything that a server, or what stands before it, can do to a request; all of it may pass."""


class Backoff:
    """How long to wait after a failure: twice as long each time, with chance in it, until something succeeds."""

    def __init__(self) -> None:
        self._pause = PAUSES[0]

    def next(self) -> float:
        """Return the seconds to wait now."""
        pause, self._pause = self._pause, min(2 * self._pause, PAUSES[1])
        return pause * random.uniform(0.5, 1.0)  # noqa: S311 - so that not all come back at once

    def reset(self) -> None:
        """Begin anew: something has succeeded."""
        self._pause = PAUSES[0]


class Latest:
    """The latest view, and a way to wait for another one. None until Infrastructure was read for the first time."""

    def __init__(self) -> None:
        self.view: views.View | None = None
        self._news = asyncio.Event()

    def put(self, view: views.View) -> None:
        """Keep a view; a waiting task is woken only when it differs."""
        if view != self.view:
            LOG.info("topology is %s/%s, phase %s", view.control_plane, view.infrastructure, view.phase)
            self.view = view
            self._news.set()

    async def news(self, within: float) -> None:
        """Wait for another view, for so many seconds at most."""
        # Not asyncio.wait_for: up to Python 3.11 it loses a cancellation that comes together with the news.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._news.wait()
        self._news.clear()


class Follower:
    """Keeps `Latest` current, without end: one list, then watches that go on from the version that was seen last.

    After a failure the next watch goes on from there too, so that nothing is read twice. A new list is needed when the
    server has forgotten that version (410), and is tried when two watches in a row have failed.
    """

    def __init__(self, api: client.ApiClient, latest: Latest) -> None:
        self._api = client.CustomObjectsApi(api)
        self._latest = latest
        self._version = ""

    async def run(self) -> None:
        """Follow until cancelled."""
        backoff, failed = Backoff(), 0
        while True:
            began = time.monotonic()
            try:
                if not self._version:
                    await self._list()
                await self._watch()
            except FAILURES as error:
                failed += 1
                if failed > 1 or getattr(error, "code", 0) == 410:
                    self._version = ""
                LOG.warning("%s; going on %s", error, f"from {self._version}" if self._version else "with a new list")
                await asyncio.sleep(backoff.next())
            else:
                failed = 0
                backoff.reset()
                # A server, or a proxy, that ends every watch at once is asked once a second and no more.
                await asyncio.sleep(max(0.0, 1.0 - (time.monotonic() - began)))

    async def _list(self) -> None:
        listing = await self._api.list_cluster_custom_object(
            *GROUP, "infrastructures", field_selector="metadata.name=cluster", _request_timeout=CALL_SECONDS
        )
        items = listing["items"]
        self._latest.put(views.parse(items[0]) if items else views.View(None, None))
        self._version = str(listing["metadata"]["resourceVersion"])

    async def _watch(self) -> None:
        """Watch from the version that is known until the server ends it."""
        response = await self._api.list_cluster_custom_object(
            *GROUP,
            "infrastructures",
            field_selector="metadata.name=cluster",
            watch=True,
            resource_version=self._version,
            allow_watch_bookmarks=True,
            timeout_seconds=WATCH_SECONDS,
            _preload_content=False,
            _request_timeout=(CALL_SECONDS, SILENCE_SECONDS),
        )
        async with response:
            if response.status != 200:
                # Without _preload_content no other code looks at the status.
                raise WatchError(response.status, (await response.text())[:200])
            async for line in response.content:
                self._event(json.loads(line))

    def _event(self, event: dict[str, Any]) -> None:
        obj = event["object"]
        match event["type"]:
            case "ADDED" | "MODIFIED":
                self._latest.put(views.parse(obj))
            case "DELETED":
                self._latest.put(views.View(None, None))
            case "ERROR":
                raise WatchError(int(obj.get("code") or 500), str(obj.get("message")))
        self._version = str(obj["metadata"]["resourceVersion"])


@dataclass(frozen=True, slots=True)
class Target:
    """What this operator looks after: a Deployment, and the ClusterOperator through which it reports."""

    namespace: str
    deployment: str
    operator: str


class Reactor:
    """Brings the Deployment to where the topology wants it, and says so. Doing it twice is doing it once."""

    def __init__(self, api: client.ApiClient, target: Target) -> None:
        self._apps = client.AppsV1Api(api)
        self._objects = client.CustomObjectsApi(api)
        self._target = target

    async def run(self, latest: Latest) -> None:
        """React until cancelled."""
        backoff = Backoff()
        while True:
            pause = LOOK_AGAIN[True]
            if latest.view is not None:
                try:
                    pause = LOOK_AGAIN[await self.react(latest.view)]
                    backoff.reset()
                except FAILURES as error:
                    pause = backoff.next()
                    LOG.warning("trying again in %.1f s: %s", pause, error)
            await latest.news(within=pause)

    async def react(self, view: views.View) -> bool:
        """Act on a view once; return whether the Deployment has arrived there."""
        name, namespace = self._target.deployment, self._target.namespace
        deployment = await self._apps.read_namespaced_deployment(name, namespace, _request_timeout=CALL_SECONDS)
        if view.control_plane_several is None:
            LOG.warning("topology %s says nothing about replicas: they stay at %d", view, deployment.spec.replicas)
            wanted = deployment.spec.replicas
        else:
            wanted = SEVERAL if view.control_plane_several else SINGLE
        if deployment.spec.replicas != wanted:
            change = {
                "metadata": {"resourceVersion": deployment.metadata.resource_version},
                "spec": {"replicas": wanted},
            }
            deployment = await self._apps.patch_namespaced_deployment(
                name, namespace, change, _request_timeout=CALL_SECONDS
            )
            LOG.info("scaled %s/%s to %d for %s", namespace, name, wanted, view.control_plane)
        status = deployment.status
        ready = min(status.updated_replicas or 0, status.available_replicas or 0)
        seen = (status.observed_generation or 0) >= deployment.metadata.generation
        arrived = seen and (status.replicas or 0) == ready == wanted
        text = f"{ready} of {wanted} replicas for control plane topology {view.control_plane}"
        await self._report("False" if arrived else "True", "AsExpected" if arrived else "TopologyChanged", text)
        return arrived

    async def _report(self, status: str, reason: str, message: str) -> None:
        """Set condition Progressing of our ClusterOperator; the others, and its time while it stays, are kept."""
        name = self._target.operator
        operator = await self._objects.get_cluster_custom_object(
            *GROUP, "clusteroperators", name, _request_timeout=CALL_SECONDS
        )
        conditions = (operator.get("status") or {}).get("conditions") or []
        before: dict[str, Any] = next((condition for condition in conditions if condition["type"] == "Progressing"), {})
        wanted = {"type": "Progressing", "status": status, "reason": reason, "message": message}
        if before.items() >= wanted.items():
            return
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        wanted["lastTransitionTime"] = before["lastTransitionTime"] if before.get("status") == status else now
        kept = [condition for condition in conditions if condition["type"] != "Progressing"]
        change = {
            "metadata": {"resourceVersion": operator["metadata"]["resourceVersion"]},
            "status": {"conditions": [*kept, wanted]},
        }
        await self._objects.patch_cluster_custom_object_status(
            *GROUP, "clusteroperators", name, change, _request_timeout=CALL_SECONDS
        )
        LOG.info("Progressing=%s: %s", status, message)


async def main(arguments: argparse.Namespace) -> None:
    """Follow and react until SIGTERM."""
    if arguments.kubeconfig:
        await config.load_kube_config(arguments.kubeconfig)
    else:
        await config.load_config()
    myself = asyncio.current_task()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, lambda: myself and myself.cancel())
    target = Target(arguments.namespace, arguments.deployment, arguments.operator)
    async with client.ApiClient() as api:
        # The library would send a patch of a custom object as JSON patch, whatever it is. All that is sent are patches.
        api.set_default_header("Content-Type", MERGE)
        latest = Latest()
        with contextlib.suppress(asyncio.CancelledError):
            async with asyncio.TaskGroup() as group:
                group.create_task(Follower(api, latest).run(), name="follow")
                group.create_task(Reactor(api, target).run(latest), name="react")
    # aiohttp returns before its TLS connections are closed (its documentation, "Graceful Shutdown").
    await asyncio.sleep(0.25)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Scale a Deployment as the topology of the cluster wants it.")
    parser.add_argument("--kubeconfig", help="default: KUBECONFIG, ~/.kube/config, or the service account of the pod")
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--deployment", required=True)
    parser.add_argument("--operator", required=True, help="ClusterOperator through which it reports")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    asyncio.run(main(parser.parse_args()))
