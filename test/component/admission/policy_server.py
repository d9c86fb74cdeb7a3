"""A cluster on the real API server with our policies in force, and the people who come to change its Infrastructure.

The policies are applied as an administrator does it, and taken away when the last test of this folder has ended: the
server is shared. They take a moment to count, which is waited for. Who comes is impersonated, so that one server serves
everybody; what they try is mostly a dry run, which admission judges like any other and which leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import aiohttp
import yaml

from test import polling, processes
from test.component import cluster, real
from topology_deploy import manifests
from topology_simulator import binaries, kinds
from topology_simulator import client as clients
from topology_simulator import cluster as simulated
from topology_simulator.envtest import server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

T = TypeVar("T")
POLICIES, BINDINGS = real.POLICIES, real.POLICY_BINDINGS
STATUS_POLICY = "cluster-topology-operator-status"
REQUEST_POLICY = "cluster-topology-operator-request"
REPORT_POLICY = "cluster-topology-operator-report"
INFRASTRUCTURE = kinds.INFRASTRUCTURES.path("cluster")
OPERATOR = kinds.CLUSTER_OPERATORS.path("topology")
_REQUEST_SECONDS = 10.0
_IN_FORCE_SECONDS = 30.0
_CONFIG = "config.openshift.io"


def _account(namespace: str, name: str) -> str:
    return f"system:serviceaccount:{namespace}:{name}"


class Person(NamedTuple):
    """Who they are to the API server, and the ClusterRoles that they are bound to."""

    user: str
    roles: tuple[str, ...] = ()
    group: str = ""


EDITOR, STATUS_WRITER, MOVER = "infrastructure-editor", "infrastructure-status-writer", "infrastructure-mover"
OPERATOR_EDITOR, CONFIRMER = "clusteroperator-editor", "load-balancer-confirmer"


def _rule(resources: str, verbs: str, *names: str, group: str = _CONFIG) -> dict[str, Any]:
    rule = {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
    return {**rule, "resourceNames": [*names]} if names else rule


_MARKERS = "topology.openshift.io"
_OWN_ROLES = {
    EDITOR: [_rule("infrastructures", "get create update patch")],
    STATUS_WRITER: [
        _rule("infrastructures", "get"), _rule("infrastructures/status clusteroperators/status", "update patch"),
    ],
    OPERATOR_EDITOR: [_rule("clusteroperators", "get create update patch delete")],
    # What docs/delegation.md gives to a program that confirms and does nothing else.
    CONFIRMER: [
        _rule("clusteroperators", "patch", "topology"),
        _rule("infrastructures/confirmations", "set", "cluster", group=_MARKERS),
    ],
    MOVER: [_rule("infrastructures/observedtopology", "set", "cluster", group=_MARKERS)],
}  # fmt: skip
PEOPLE = {
    "masters": Person("root", group=server.MASTERS),
    "admin": Person("carla", ("cluster-admin",)),
    "operator": Person(_account(cluster.OWN_NAMESPACE, "cluster-topology-operator")),
    # As on a cluster: cluster-config-operator manifests/0000_10_config-operator_01_openshift-config-operator-rbac.yaml
    # and cluster-version-operator install/0000_00_cluster-version-operator_03_roles.yaml bind both to cluster-admin.
    "native": Person(_account("openshift-config-operator", "openshift-config-operator"), ("cluster-admin",)),
    "version": Person(_account("openshift-cluster-version", "cluster-version-operator"), ("cluster-admin",)),
    # The same name with less: it is the rights that count.
    "squatter": Person(_account("openshift-config-operator", "default"), (EDITOR, STATUS_WRITER)),
    "namesake": Person(_account("default", "cluster-topology-operator"), (EDITOR, STATUS_WRITER)),
    "ingress": Person(_account("openshift-ingress-operator", "ingress-operator"), (STATUS_WRITER,)),
    "mover": Person("marta", (STATUS_WRITER, MOVER)),
    "editor": Person("edith", (EDITOR,)),
    "requester": Person("rita", ("topology-requester",)),
    "both": Person("bea", ("topology-requester", EDITOR, STATUS_WRITER)),
    "full": Person("adam", ("topology-administrator",)),
    "late": Person("otto", ("topology-requester", EDITOR, "topology-administrator")),
    "nobody": Person("nina"),
    "janitor": Person("jan", (OPERATOR_EDITOR, STATUS_WRITER)),
    "balancer": Person(_account("load-balancers", "agent"), (CONFIRMER,)),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """One request for the Infrastructure. `body` is sent as JSON of type `media`."""

    method: str
    body: Any
    media: str = "application/merge-patch+json"
    path: str = INFRASTRUCTURE
    query: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What came back; `said` is the message of a refusal."""

    code: int
    said: str
    obj: dict[str, Any]

    @property
    def refused_by(self) -> str:
        """The policy that refused, `rbac`, or nothing."""
        if self.code != 403:
            return ""
        for policy in (STATUS_POLICY, REQUEST_POLICY, REPORT_POLICY):
            if f"ValidatingAdmissionPolicy '{policy}'" in self.said:
                return policy
        return "rbac"


class PolicyServer:
    """The cluster. `api` is the administrator's client."""

    def __init__(self, session: real.Session, api: clients.Client, http: aiohttp.ClientSession) -> None:
        self.session = session
        self.api = api
        self._http = http

    async def send(self, who: str, request: Request, *, dry: bool = True) -> Answer:
        """Send a request as one of PEOPLE."""
        person = PEOPLE[who]
        headers = {"Impersonate-User": person.user, "Content-Type": request.media}
        if person.group:
            headers["Impersonate-Group"] = person.group
        query = [*request.query, *([("dryRun", "All")] if dry else [])]
        async with self._http.request(
            request.method, request.path, data=json.dumps(request.body), headers=headers, params=query
        ) as response:
            found = await response.json()
            said = found.get("message", "") if found.get("kind") == "Status" else ""
            return Answer(response.status, said, found)

    async def kubectl(self, who: str, *arguments: str, given: str = "", **environment: str) -> processes.Ended:
        """Run kubectl as one of PEOPLE."""
        place = self.session.server.folder / "admission.kubeconfig"
        place.write_text(yaml.safe_dump(self.session.server.kubeconfig()))
        person = PEOPLE[who]
        group = ["--as-group", person.group] if person.group else []
        return await processes.run(
            binaries.folder() / "kubectl",
            *("--kubeconfig", place, "--as", person.user, *group, *arguments),
            given=given,
            env={"PATH": os.defpath, "HOME": str(self.session.server.folder), **environment},
        )

    async def infrastructure(self) -> dict[str, Any]:
        """Read it as it is."""
        return await self.api.get(kinds.INFRASTRUCTURES, "cluster")

    async def anew(self, *, installed: bool = True) -> dict[str, Any]:
        """Delete the Infrastructure, create it as an installer does, and return it; `installed` gives it a status."""
        with contextlib.suppress(clients.ApiError):
            await self.api.delete(kinds.INFRASTRUCTURES, "cluster")
        (wanted,) = [one for one in simulated.objects(simulated.Shape()) if kinds.kind_of(one) is kinds.INFRASTRUCTURES]
        made = await self.api.create(kinds.INFRASTRUCTURES, wanted)
        if await self.api.find(kinds.CLUSTER_OPERATORS, "topology") is None:
            await self.api.create(kinds.CLUSTER_OPERATORS, kinds.CLUSTER_OPERATORS.new("topology", spec={}))
        if installed:
            made = await self.api.patch_status(kinds.INFRASTRUCTURES, "cluster", wanted["status"])
        return made

    async def until(self, ask: Callable[[], Awaitable[T]], expected: T) -> None:
        """Ask until the answer is the expected one: rights and policies take a moment to count."""
        await polling.until(
            f"the answer is {expected!r}", ask, _IN_FORCE_SECONDS, holds=lambda answer: answer == expected
        )

    async def in_force(self) -> None:
        """Wait until all policies count."""
        moved = {"status": {"controlPlaneTopology": "External"}}
        forged = {"status": {"extension": {"phase": "Forged"}}}
        for policy, who, request in (
            (REPORT_POLICY, "ingress", Request("PATCH", forged, path=f"{OPERATOR}/status")),
            (REQUEST_POLICY, "editor", Request("PATCH", {"spec": {"desiredTopology": "HighlyAvailable"}})),
            (STATUS_POLICY, "ingress", Request("PATCH", moved, path=f"{INFRASTRUCTURE}/status")),
        ):

            async def refuses(who: str = who, request: Request = request) -> str:
                return (await self.send(who, request)).refused_by

            await self.until(refuses, policy)


def shipped() -> dict[str, dict[str, Any]]:
    """Return the policies of the manifests by name."""
    found = [one for one in rendered() if one["kind"] == POLICIES.kind]
    return {one["metadata"]["name"]: one for one in found}


def rendered(namespace: str = cluster.OWN_NAMESPACE) -> list[dict[str, Any]]:
    """Return every object of the manifests."""
    text = manifests.render(namespace=namespace, monitoring=False)
    return [one for one in yaml.load_all(text, yaml.CSafeLoader) if one]


def _admission() -> list[tuple[kinds.Kind, dict[str, Any]]]:
    by_kind = {one.kind: one for one in (POLICIES, BINDINGS)}
    made = [(by_kind[one["kind"]], one) for one in rendered() if one["kind"] in by_kind]
    offered = {role for person in PEOPLE.values() for role in person.roles if role.startswith("topology-")}
    roles = [one for one in rendered() if one["kind"] == real.ROLES.kind and one["metadata"]["name"] in offered]
    assert len(roles) == len(offered), offered
    return [*((real.ROLES, one) for one in roles), *made]


def _rights() -> list[tuple[kinds.Kind, dict[str, Any]]]:
    roles = [(real.ROLES, real.ROLES.new(name, rules=rules)) for name, rules in _OWN_ROLES.items()]
    bindings = [
        (real.ROLE_BINDINGS, real.bound(role, f"admission-{who}-{role}", kind="User", name=person.user))
        for who, person in PEOPLE.items()
        for role in person.roles
    ]
    return [*roles, *bindings]


@contextlib.asynccontextmanager
async def opened(session: real.Session) -> AsyncIterator[PolicyServer]:
    """Open a client and a connection for those who are impersonated."""
    headers = session.access().headers
    connector = aiohttp.TCPConnector(ssl=session.server.tls(), limit=8)
    timeout = aiohttp.ClientTimeout(total=_REQUEST_SECONDS)
    async with (
        clients.Client(session.access(), "administrator") as api,
        aiohttp.ClientSession(session.server.url, connector=connector, headers=headers, timeout=timeout) as http,
    ):
        yield PolicyServer(session, api, http)


@contextlib.asynccontextmanager
async def furnished(session: real.Session) -> AsyncIterator[None]:
    """Put the cluster, the policies and everybody's rights there, and wait until they count."""
    await session.furnish(None)
    async with opened(session) as ground:
        await ground.anew()
        for kind, wanted in (*_admission(), *_rights()):
            if await ground.api.find(kind, wanted["metadata"]["name"]) is None:
                await ground.api.create(kind, wanted)
        await ground.in_force()
    before = await session.keep_rules()
    try:
        yield
    finally:
        session.keep_only(before)
        await session.furnish(None)
