"""A cluster of the fleet: a real API server beside the hub's etcd, a cluster that lives, our operator, a work agent.

The operator runs with the rights of its manifests and under its admission policies; the work agent runs as the
ServiceAccount that OCM gives it, with the rights that OCM gives it for itself, and those of the pack.
"""

import asyncio
import contextlib
import pathlib
from typing import Any

from .. import box, install, kinds, pace, scenario, shape
from ..actors import kubelets
from ..envtest import audit, openshift, server
from . import engines, pack
from . import hub as hubs

_AGENT = f"system:serviceaccount:{pack.AGENT_NAMESPACE}:{pack.AGENT_ACCOUNT}"
_POLICY_AGENT = f"system:serviceaccount:{pack.POLICY_AGENT_NAMESPACE}:{pack.POLICY_AGENT_ACCOUNT}"
_LEASE = ("--lease-duration", "15", "--renew-deadline", "10", "--retry-period", "2")
"""An operator whose machine lost its power has not given its lease back: the next one waits until it has run out."""
_NAMESPACES = {pack.AGENT_NAMESPACE, pack.POLICY_AGENT_NAMESPACE, engines.POLICY_NAMESPACE}
_REFRESH_SECONDS = 1.5
"""kube-apiserver looks once a second which policies there are (kubernetes/kubernetes 1.36, policy/generic)."""


class Spoke(engines.Site):
    """One cluster; use it as an async context manager. `deadline_minutes` shortens what the definitions say.

    It begins with so many `masters`, of which the topology says nothing yet: three are ready to be converted.
    Logs, and the kubeconfigs of administrator and operator, go to `folder`.
    """

    def __init__(  # noqa: PLR0913 - what a story may ask for
        self,
        name: str,
        hub: hubs.Hub,
        speeds: pace.Pace,
        folder: pathlib.Path,
        *,
        masters: int = 3,
        deadline_minutes: int | None = None,
        given: pack.Pack,
    ) -> None:
        users = {"agent": _service_account(_AGENT), "policy": _service_account(_POLICY_AGENT)}
        super().__init__(server.RealServer(users, beside=hub.server, prefix=f"/{name}"), folder)
        self.name = name
        self._hub = hub
        self._pack = given
        self._pace = speeds
        self._deadline_minutes = deadline_minutes
        self._masters = masters
        self.box: box.Box

    async def _furnish(self, parts: contextlib.AsyncExitStack) -> None:
        await install.define(self.api, engines.definitions())
        await pack.create(self.api, [kinds.NAMESPACES.new(name) for name in sorted(_NAMESPACES)])
        await pack.create(self.api, [*pack.RIGHTS["cluster"], *self._pack.rights()])
        served = box.Served(
            administrator=self.server.kubeconfig(), definitions=openshift.definitions(), account=self.server.kubeconfig
        )
        story = scenario.load("happy-path").model_copy(
            update={"cluster": shape.Shape(masters=self._masters), "deadline_minutes": self._deadline_minutes}
        )
        self._folder.mkdir(parents=True, exist_ok=True)
        self.box = await parts.enter_async_context(
            box.opened(story, self._pace, self._folder, served=served, flags=_LEASE, manifests=True)
        )
        await asyncio.sleep(_REFRESH_SECONDS)
        hub = self.engines.kubeconfig("hub", self._hub.server.kubeconfig(self.name))
        site = self.engines.kubeconfig("spoke", self.server.kubeconfig("agent"))
        await self.engines.run(engines.AGENT, cluster=self.name, hub=hub, site=site)

    # -- what happens to it

    async def grow(self) -> None:
        """Let a further machine join as a control-plane node. Raises ClientError."""
        await kubelets.join(self.api, f"master-{self._masters}")
        self._masters += 1

    async def lose(self) -> None:
        """Take its power: API server, operator and agent are gone at once. Raises KeepingError, RealServerError."""
        await self.engines.end(engines.AGENT)
        await self.server.stop_api()
        await self.stop_operator()

    async def recover(self) -> None:
        """Give its power back. Raises KeepingError, RealServerError."""
        await self.server.start_api()
        await self.start_operator()
        await self.engines.start_again(engines.AGENT)

    async def apply_policy(self, spec: dict[str, Any], name: str = pack.NAME) -> None:
        """Give it a ConfigurationPolicy, as a hub's policies are copied. Raises ClientError."""
        kind = pack.CONFIGURATION_POLICIES
        await self.api.create(kind, kind.new(name, engines.POLICY_NAMESPACE, spec=spec))

    async def enforce_policy(self) -> None:
        """Let the policy of the pack enforce, as TALM does in its turn. Raises ClientError."""
        change = {"spec": {"remediationAction": "enforce"}}
        await self.api.patch(pack.CONFIGURATION_POLICIES, pack.NAME, change, engines.POLICY_NAMESPACE)

    async def compliance(self, name: str = pack.NAME) -> tuple[str, str]:
        """Return what a policy says: Compliant, NonCompliant, or nothing yet; and why. Raises ClientError."""
        policy = await self.api.get(pack.CONFIGURATION_POLICIES, name, engines.POLICY_NAMESPACE)
        status = policy.get("status") or {}
        newest, *_ = status.get("history") or [{}]
        return str(status.get("compliant") or ""), str(newest.get("message", ""))

    async def stop_operator(self) -> None:
        """Stop the operator."""
        if self.box.operator is not None:
            await self.box.operator.stop()

    async def forget(self) -> None:
        """Stop the operator and take its record away, as on a cluster that never had one. Raises ClientError."""
        await self.stop_operator()
        await self.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"topologyTransition": None})

    async def start_operator(self) -> None:
        """Start the operator that was stopped."""
        if self.box.operator is not None:
            await self.box.operator.start()

    # -- what can be read of it

    async def infrastructure(self) -> dict[str, Any]:
        """Return Infrastructure. Raises ClientError."""
        return await self.api.get(kinds.INFRASTRUCTURES, "cluster")

    async def ready(self) -> bool:
        """Return whether the operator says that a transition is available. Raises ClientError."""
        record = record_of(await self.infrastructure())
        return any(each["available"] for each in record.get("available") or [])

    def written_by_engines(self) -> list[audit.Event]:
        """Return every write of work agent and config-policy-controller that the API server let pass; no dry runs."""
        events = audit.Log(self.server.folder / "audit.log").read()
        return [
            event
            for event in events
            if event.user in (_AGENT, _POLICY_AGENT)
            and event.verb not in ("get", "list", "watch")
            and 200 <= event.code < 300
            and "dryRun=All" not in event.uri
        ]


def record_of(infrastructure: dict[str, Any]) -> dict[str, Any]:
    """Return the record of the operator, empty when there is none."""
    record: dict[str, Any] = (infrastructure.get("status") or {}).get("topologyTransition") or {}
    return record


def _service_account(name: str) -> server.User:
    namespace = name.split(":")[2]
    return server.User(name, ("system:serviceaccounts", f"system:serviceaccounts:{namespace}"))
