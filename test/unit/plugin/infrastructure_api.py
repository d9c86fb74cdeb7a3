"""An API server in memory that serves Infrastructure and the operator's Lease, and refuses all the rest.

What it refuses is answered with `refusal`; `unreadable` is the answer for Infrastructure, where there is one. So every
check is Unknown, and what is told is what `set` and `cancel` make of the write. `meets` are what the next writes meet,
before they are judged as a real server would: an error to be raised, a function that changes something first, or both.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from kubectl_topology import cluster
from topology_controller.kube import errors as kube
from topology_controller.kube import resource as resources

Raw = dict[str, Any]
_KIND = resources.Resource("config.openshift.io", "v1", "infrastructures", "Infrastructure")
Meets = Callable[["Api"], kube.KubeError | None]


def error(kind: type[kube.KubeError], status: int, reason: str, message: str, verb: str = "patch") -> kube.KubeError:
    """An error about Infrastructure."""
    return kind(verb, _KIND, None, "cluster", status, reason, message)


class Api:
    """What is used of a client."""

    request_timeout = 10.0

    def __init__(self, desired: str | None = None, record: Raw | None = None) -> None:
        self.raw: Raw = {
            "apiVersion": "config.openshift.io/v1",
            "kind": "Infrastructure",
            "metadata": {"name": "cluster", "resourceVersion": "5", "generation": 1, "uid": "u", "managedFields": []},
            "spec": {} if desired is None else {"desiredTopology": desired},
            "status": {
                "controlPlaneTopology": "SingleReplica",
                "infrastructureTopology": "SingleReplica",
                "platformStatus": {"type": "None"},
            },
        }
        if record is not None:
            self.raw["status"]["topologyTransition"] = record
        self.meets: list[Meets] = []
        self.written: list[Raw] = []
        self.asked: list[str] = []
        self.unreadable: kube.KubeError | None = None
        self.refusal: type[kube.KubeError] = kube.Forbidden
        self.prunes = False
        self.left = ""
        self.answers_as: Callable[[Api], None] | None = None

    def made(self, acting: cluster.Acting | None = None) -> cluster.Connection:
        """A connection to it."""
        return cluster.Connection(self, "https://api.example.com:6443", acting)  # type: ignore[arg-type] # what is used

    def change(self, manager: str, *, desired: str | None = "", **status: Any) -> None:
        """Somebody else writes: the request, or status."""
        if desired != "":
            self.raw["spec"] = {} if desired is None else {"desiredTopology": desired}
            self.raw["metadata"]["generation"] += 1
        self.raw["status"].update(status)
        part: Raw = {"f:spec": {"f:desiredTopology": {}}} if desired != "" else {"f:status": {}}
        metadata = self.raw["metadata"]
        metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)
        time = f"2026-03-01T12:00:{len(metadata['managedFields']):02}Z"
        metadata["managedFields"].append({"manager": manager, "time": time, "fieldsV1": part})

    async def get(self, resource: resources.Resource, name: str, **options: Any) -> Raw:
        self.asked.append(f"get {resource.plural}")
        if resource.plural == "infrastructures":
            if self.unreadable is not None:
                raise self.unreadable
            return copy.deepcopy(self.raw)
        if (resource.plural, name) == ("leases", "cluster-topology-operator"):
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            spec = {"holderIdentity": "operator-a_1", "renewTime": now, "leaseDurationSeconds": 137}
            return {"kind": "Lease", "metadata": {"name": name, "resourceVersion": "1"}, "spec": spec}
        raise self._refused("get", resource, options.get("namespace"), name)

    async def list(self, selection: resources.Selection, *_: Any, **__: Any) -> Any:
        self.asked.append(f"list {selection.resource.plural}")
        raise self._refused("list", selection.resource, selection.namespace, None)

    async def serves(self, resource: resources.Resource) -> bool:
        self.asked.append(f"discover {resource.plural}")
        return True

    def _refused(
        self, verb: str, resource: resources.Resource, namespace: str | None, name: str | None
    ) -> kube.KubeError:
        return self.refusal(verb, resource, namespace, name, 403, self.refusal.__name__, "no")

    async def merge_patch(self, resource: resources.Resource, name: str, body: Raw, **_: Any) -> Raw:
        assert (resource.plural, name) == ("infrastructures", "cluster")
        raised = self.meets.pop(0)(self) if self.meets else None
        if raised is not None and not raised.outcome_unknown:
            raise raised
        assert set(body) == {"metadata", "spec"}
        if body["metadata"] != {"resourceVersion": self.raw["metadata"]["resourceVersion"]}:
            raise error(kube.Conflict, 409, "Conflict", "the object has been modified")
        self.written.append(body)
        if not self.prunes:
            self.change("kubectl-topology", desired=body["spec"]["desiredTopology"])
        if self.answers_as is not None:
            self.answers_as(self)
        if raised is not None:
            raise raised
        return copy.deepcopy(self.raw)


def fails(kind: type[kube.KubeError], status: int, reason: str, message: str) -> Meets:
    """The write is answered with that error; it is executed all the same if that error leaves it open."""
    return lambda _: error(kind, status, reason, message)


def elsewhere(manager: str, **change: Any) -> Meets:
    """Somebody else writes right before."""

    def meets(api: Api) -> None:
        api.change(manager, **change)

    return meets


def lost(then: Meets | None = None) -> Meets:
    """The write never arrives, and nobody says so; `then` is what somebody else does meanwhile."""

    def meets(api: Api) -> kube.KubeError | None:
        if then is not None:
            then(api)
        raise error(kube.TimedOut, 0, "TimedOut", "no complete answer in 10 s")

    return meets
