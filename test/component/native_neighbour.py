"""The native controller as a neighbour of a component test: played, or the real one.

Played it is the simulator's actor, which writes what the real one was seen to write. NATIVE names a binary of
cluster-config-operator that has the controller (PR 495); with it, every test that asks for `native` runs with that one
too, on the real API server, where its pauses are as long as they are. It exits when its gate changes and is started
again here, as its Deployment would; its Lease is deleted before, so that nobody waits for that to expire.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import socket
from typing import TYPE_CHECKING, Any, Protocol

import yaml

from test.component import cluster
from topology_simulator import client as clients
from topology_simulator import cluster as simulated
from topology_simulator import kinds, kubeconfig, pace
from topology_simulator.actors import native

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component.world import World

PLAYED, BINARY = "played", "binary"
KINDS = (PLAYED, *([BINARY] if os.environ.get("NATIVE") else []))
AGENT = "*config-operator*"
_PACE = dataclasses.replace(pace.FAST, native=1.5, native_away=0.3)
_FEATURES = (native.GATE, "VSphereMultiVCenterDay2")
"""What the real one asks its feature gates for; one that is not listed is a panic."""
_PROFILE = "include.release.openshift.io/self-managed-high-availability"


class Native(Protocol):
    """What a test does to it."""

    pause: float
    """Seconds from its change to its end."""

    async def switch(self, *, on: bool) -> None:
        """Turn its gate on or off for the version that runs."""


class Played:
    """The actor of the simulator."""

    pause = _PACE.native

    def __init__(self, world: World) -> None:
        self._world = world

    async def switch(self, *, on: bool) -> None:
        """Write the status that the real one would make of spec."""
        await cluster.switch_native(self._world.api, on=on)


@contextlib.asynccontextmanager
async def played(world: World, folder: pathlib.Path) -> AsyncIterator[Played]:
    """Let it be played inside this context."""
    access = kubeconfig.access(world.server.kubeconfig(), folder)
    async with clients.Client(access, native.NativeController.agent) as api, asyncio.TaskGroup() as group:
        actor = native.NativeController(api, _PACE)
        task = group.create_task(actor.run())
        try:
            yield Played(world)
        finally:
            task.cancel()


class Binary:
    """A process of the real one."""

    pause = 310.0

    def __init__(self, world: World, folder: pathlib.Path) -> None:
        self._world, self._folder = world, folder
        self._process: asyncio.subprocess.Process | None = None

    async def switch(self, *, on: bool) -> None:
        """Set spec as an administrator does."""
        enabled, disabled = ([native.GATE], []) if on else ([], [native.GATE])
        custom = {"enabled": enabled, "disabled": disabled}
        spec = {"featureSet": "CustomNoUpgrade", "customNoUpgrade": custom}
        await self._world.api.patch(kinds.FEATURE_GATES, "cluster", {"spec": spec})

    def _end(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def run(self) -> None:
        """Start it whenever it has ended."""
        command = [os.environ["NATIVE"], *self._arguments()]
        environment = {
            **os.environ,
            "OPERATOR_IMAGE_VERSION": simulated.VERSION,
            "POD_NAMESPACE": simulated.NATIVE_NAMESPACE,
            "TMPDIR": str(self._folder),
        }
        with (self._folder / "native.log").open("ab") as log:
            try:
                while True:
                    with contextlib.suppress(clients.ApiError):
                        await self._world.api.delete(kinds.LEASES, simulated.NATIVE_LEASE, simulated.NATIVE_NAMESPACE)
                    self._process = await asyncio.create_subprocess_exec(
                        *command, env=environment, stdout=log, stderr=log
                    )
                    await self._process.wait()
            finally:
                self._end()

    def _arguments(self) -> list[str]:
        gates, config, access = (self._folder / f"native-{name}" for name in ("gates", "config", "kubeconfig"))
        gates.mkdir()
        entry = {"version": simulated.VERSION, "enabled": [], "disabled": [{"name": name} for name in _FEATURES]}
        manifest: dict[str, Any] = {
            "apiVersion": "config.openshift.io/v1",
            "kind": "FeatureGate",
            "metadata": {"name": "cluster", "annotations": {_PROFILE: "false-except-for-the-config-operator"}},
            "spec": {},
            "status": {"featureGates": [entry]},
        }
        (gates / "default.yaml").write_text(json.dumps(manifest))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            serving = {"bindAddress": f"127.0.0.1:{free.getsockname()[1]}"}
        head = {"apiVersion": "operator.openshift.io/v1alpha1", "kind": "GenericOperatorConfig"}
        config.write_text(yaml.safe_dump({**head, "servingInfo": serving}))
        access.write_text(yaml.safe_dump(self._world.server.kubeconfig()))
        return [
            "operator", "--kubeconfig", str(access), "--namespace", simulated.NATIVE_NAMESPACE, "--operator-version",
            simulated.VERSION, "--authoritative-feature-gate-dir", str(gates), "--config", str(config),
        ]  # fmt: skip


@contextlib.asynccontextmanager
async def binary(world: World, folder: pathlib.Path) -> AsyncIterator[Binary]:
    """Let the real one run inside this context."""
    made = Binary(world, folder)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(made.run())
        try:
            yield made
        finally:
            task.cancel()
