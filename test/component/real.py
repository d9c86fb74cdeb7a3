"""The real API server of a test run: one for all tests, started when the first one asks for it.

It lives in a thread with a loop of its own, because every test has its own loop and a server that needs seconds to
start outlives them all. OpenShift's own definitions, namespaces and the operator's rights are put there once; between
two tests rules for requests and what was written of the cluster's objects are deleted, and altered definitions are put
back. What nobody has written since it was installed is there for the next test, too.

`backend.Real` opens a proxy before it for each test; whoever needs the server itself asks the fixture `real_server`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from typing import TYPE_CHECKING, Any, Self, TypeVar

import aiohttp
import yaml

from test import polling
from test.component import cluster, definitions
from topology_deploy import manifests
from topology_simulator import client as clients
from topology_simulator import install, kinds, kubeconfig
from topology_simulator.envtest import openshift, server

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Awaitable, Callable, Coroutine
    from types import TracebackType

    from topology_simulator import cluster as simulated

T = TypeVar("T")
_ACCOUNT = f"system:serviceaccount:{cluster.OWN_NAMESPACE}:cluster-topology-operator"
OPERATOR = server.User(
    _ACCOUNT, ("system:serviceaccounts", f"system:serviceaccounts:{cluster.OWN_NAMESPACE}", "system:authenticated")
)
"""Who the operators are: the ServiceAccount of the manifests."""
TOKENS = ("operator-a", "operator-b", "operator-c")
_START_SECONDS = 120.0
_TRIES = 3
_STOP_SECONDS = 30.0
_DELETE_SECONDS = 30.0
_PAUSE_SECONDS = 0.1
_FURNISH_SECONDS = 120.0
RBAC = "rbac.authorization.k8s.io"
ROLES = kinds.Kind(RBAC, "clusterroles", "ClusterRole")
ROLE_BINDINGS = kinds.Kind(RBAC, "clusterrolebindings", "ClusterRoleBinding")
_METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
_KEPT = (kinds.NAMESPACES, kinds.DEFINITIONS)
_AGING = (kinds.LEASES, cluster.EVENTS)
"""What is only good for a while."""
_DEFINITION: dict[str, Any] = {"apiVersion": kinds.DEFINITIONS.api_version, "kind": kinds.DEFINITIONS.kind}
_ADMISSION = "admissionregistration.k8s.io"
POLICIES = kinds.Kind(_ADMISSION, "validatingadmissionpolicies", "ValidatingAdmissionPolicy")
POLICY_BINDINGS = kinds.Kind(_ADMISSION, "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding")
_WEBHOOKS = kinds.Kind(_ADMISSION, "validatingwebhookconfigurations", "ValidatingWebhookConfiguration")
_RULES = (POLICY_BINDINGS, POLICIES, _WEBHOOKS, ROLE_BINDINGS, ROLES)
"""What decides about requests of others: of these only what was there when the server was furnished outlives a test."""
_REFRESH_SECONDS = 1.5
"""kube-apiserver looks once a second which policies there are (kubernetes/kubernetes 1.36, policy/generic)."""


def bound(role: str, name: str = "", /, **subject: str) -> dict[str, Any]:
    """Return a ClusterRoleBinding, with the name of the role unless it has its own."""
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
    return ROLE_BINDINGS.new(name or role, roleRef=reference, subjects=[subject])


class Session:
    """The server of one test run. `server` may be asked anything that needs no loop; see `run` for the rest.

    What operators may do there is what `manifests` grants.
    """

    manifests = staticmethod(functools.partial(manifests.render, monitoring=False))

    def __init__(self) -> None:
        self.server = server.RealServer(dict.fromkeys(TOKENS, OPERATOR))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="real API server", daemon=True)
        self._definitions: dict[str, dict[str, Any]] = {}
        self._generations: dict[str, int] = {}
        self._rules: frozenset[tuple[str, str]] = frozenset()
        self._shape: simulated.Shape | None = None
        self._since = 0

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._wait(self.server.__aenter__(), _START_SECONDS)
            self._wait(self._furnish(), _START_SECONDS)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop.is_closed():
            return
        try:
            self._wait(self.server.__aexit__(kind, error, trace), _STOP_SECONDS)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_STOP_SECONDS)
            self._loop.close()

    def _wait(self, what: Coroutine[Any, Any, T], seconds: float) -> T:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(seconds)

    async def run(self, what: Coroutine[Any, Any, T]) -> T:
        """Run something on the server's own loop: `await session.run(session.server.restart_api())`."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(what, self._loop))

    def access(self) -> kubeconfig.Access:
        """Return the administrator's way in, past any proxy."""
        return kubeconfig.access(self.server.kubeconfig())

    async def furnish(self, shape: simulated.Shape | None) -> None:
        """Let there be a cluster of this shape, or none, as nobody has written to it; namespaces and rights stay.

        Foreign rules are deleted, definitions put back. An API server that a test has left dead is started again.
        """
        await self.run(self._furnish_with(shape))

    async def put_back(self, saved: pathlib.Path, *, bump: int, down: float) -> None:
        """Restore a snapshot of etcd."""
        self._since = 0
        await self.run(self.server.put_back(saved, bump=bump, down=down))

    async def keep_rules(self) -> frozenset[tuple[str, str]]:
        """Let every policy, webhook and right that is there now stay for other tests; return what did before."""
        return await self.run(self._keep_rules())

    def keep_only(self, rules: frozenset[tuple[str, str]]) -> None:
        """Let these stay alone, as `keep_rules` returned them."""
        self._rules = rules

    async def served(self) -> None:
        """Wait until every kind is served: a server that is ready has yet to look at its definitions."""
        await self.run(self._served())

    # -- on the server's loop

    async def _furnish(self) -> None:
        await self._keep_rules()
        async with clients.Client(self.access(), "installer") as api:
            await _patiently(lambda: install.define(api, openshift.definitions()))
            for crd in await api.list(kinds.DEFINITIONS):
                name = crd["metadata"]["name"]
                self._definitions[name] = crd["spec"]
                self._generations[name] = crd["metadata"]["generation"]
            await _patiently(lambda: self._furnish_with(cluster.SHAPE))
            await grant(api, self.manifests())
        await self._keep_rules()

    async def _served(self) -> None:
        async with clients.Client(self.access(), "installer") as api:
            await asyncio.gather(*(definitions.until_served(api, kind) for kind in kinds.ALL))

    def _session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            self.server.url,
            connector=aiohttp.TCPConnector(ssl=self.server.tls(), limit=0),
            headers={"User-Agent": "installer", "Accept": _METADATA, **self.access().headers},
            timeout=aiohttp.ClientTimeout(total=_DELETE_SECONDS),
            raise_for_status=True,
        )

    async def _keep_rules(self) -> frozenset[tuple[str, str]]:
        before = self._rules
        async with self._session() as session:
            self._rules = frozenset(
                [(kind.plural, one["name"]) for kind in _RULES for one in await _metadata(session, kind.path())]
            )
        return before

    async def _delete_rules(self, session: aiohttp.ClientSession) -> None:
        deleted = set()
        for kind in _RULES:
            for one in await _metadata(session, kind.path()):
                if (kind.plural, one["name"]) not in self._rules:
                    deleted.add(kind)
                    async with session.delete(kind.path(one["name"])) as response:
                        await response.read()
        if deleted & {POLICIES, POLICY_BINDINGS, _WEBHOOKS}:
            await asyncio.sleep(_REFRESH_SECONDS)

    async def _furnish_with(self, shape: simulated.Shape | None) -> None:
        if "kube-apiserver" not in self.server.pids:
            await self.server.start_api()
            await self._served()
        async with asyncio.timeout(_FURNISH_SECONDS), self._session() as session:
            await self._delete_rules(session)
            if await self._put_definitions_back(session) or shape is None or shape != self._shape:
                self._since = 0
            since, self._since = self._since, 0
            async with asyncio.TaskGroup() as group:
                deleting = [
                    group.create_task(_delete_all(session, kind, 0 if kind in _AGING else since))
                    for kind in (*(one for one in kinds.ALL if one not in _KEPT), cluster.EVENTS)
                ]
            if shape is None:
                return
            there = {place for task in deleting for place in task.result()}
            there |= {_place(kinds.NAMESPACES, one) for one in await _metadata(session, kinds.NAMESPACES.path())}
            async with clients.Client(self.access(), "installer") as api:
                await install.populate(api, shape, there)
            newest = await _listed(session, kinds.NAMESPACES.path())
            self._shape, self._since = shape, int(newest["metadata"]["resourceVersion"])

    async def _put_definitions_back(self, session: aiohttp.ClientSession) -> bool:
        found = {one["name"]: one["generation"] for one in await _metadata(session, kinds.DEFINITIONS.path())}
        for name in found.keys() - self._generations:  # what a site brought, and its objects with it
            async with session.delete(kinds.DEFINITIONS.path(name), headers={"Accept": "application/json"}) as response:
                await response.read()
        altered = [name for name, generation in self._generations.items() if found.get(name) != generation]
        if not altered:
            return False
        async with clients.Client(self.access(), "installer") as api:
            gone = (name for name in altered if name not in found)
            await install.define(
                api, [{**_DEFINITION, "metadata": {"name": name}, "spec": self._definitions[name]} for name in gone]
            )
            for name in altered:
                kind = kinds.named(name)
                await definitions.restore(api, kind, self._definitions[name]["versions"])
                self._generations[name] = (await api.get(kinds.DEFINITIONS, name))["metadata"]["generation"]
        return True


async def _patiently(what: Callable[[], Awaitable[None]]) -> None:
    """Ask a server that has just started: on a busy machine what had no answer is asked again."""
    for _ in range(_TRIES - 1):
        with contextlib.suppress(clients.UnreachableError):
            await what()
            return
    await what()


async def _listed(session: aiohttp.ClientSession, path: str) -> dict[str, Any]:
    while True:
        async with session.get(path, raise_for_status=False) as response:
            # The server opens the storage of a kind anew after a change of its definition, and says 429 meanwhile.
            if response.status != 429:
                response.raise_for_status()
                found: dict[str, Any] = await response.json()
                return found
        await asyncio.sleep(_PAUSE_SECONDS)


async def _metadata(session: aiohttp.ClientSession, path: str) -> list[dict[str, Any]]:
    return [one["metadata"] for one in (await _listed(session, path))["items"] or []]


async def _delete_all(session: aiohttp.ClientSession, kind: kinds.Kind, since: int) -> list[install.Place]:
    """Delete what was written after a version, also what a finalizer holds; not in the system's namespaces.

    Return what stays.
    """
    while True:
        objects = [
            one for one in await _metadata(session, kind.path()) if not one.get("namespace", "").startswith("kube-")
        ]
        found = [one for one in objects if int(one["resourceVersion"]) > since]
        if not found:
            return [_place(kind, one) for one in objects]
        for one in found:
            if one.get("finalizers"):
                path = kind.path(one["name"], one.get("namespace", ""))
                media = {"Content-Type": "application/merge-patch+json", "Accept": "application/json"}
                async with session.patch(path, data=b'{"metadata":{"finalizers":null}}', headers=media) as response:
                    await response.read()
        # One by one where some stay.
        paths = {kind.path("" if found == objects else one["name"], one.get("namespace", "")) for one in found}
        for path in paths:
            options = {"propagationPolicy": "Background"}
            async with session.delete(path, json=options) as response:
                await response.read()


def _place(kind: kinds.Kind, metadata: dict[str, Any]) -> install.Place:
    return kind, metadata.get("namespace", ""), metadata["name"]


async def grant(api: clients.Client, text: str, user: server.User = OPERATOR) -> None:
    """Apply the roles and bindings of manifests, and wait until they count for their user."""
    documents = yaml.load_all(text, yaml.CSafeLoader)
    rights = [one for one in documents if one and one["apiVersion"].startswith(RBAC)]
    for one in rights:
        plural = f"{one['kind'].lower()}s"
        await api.create(kinds.Kind(RBAC, plural, one["kind"], namespaced="namespace" in one["metadata"]), one)
    bound = {(one["metadata"].get("namespace"), one["roleRef"]["name"]) for one in rights if "roleRef" in one}
    for role in (one for one in rights if one["kind"] in {"Role", "ClusterRole"}):
        if (role["metadata"].get("namespace"), role["metadata"]["name"]) not in bound:
            continue  # for others, and bound to nobody
        rule, namespace = role["rules"][-1], role["metadata"].get("namespace", "")
        asked = {
            "group": rule["apiGroups"][0],
            "resource": rule["resources"][0],
            "name": rule.get("resourceNames", [""])[0],
            "verb": rule["verbs"][0],
            "namespace": namespace,
        }
        await polling.until(f"the operator may {asked}", functools.partial(_allowed, api, asked, user))


async def _allowed(api: clients.Client, asked: dict[str, str], user: server.User) -> bool:
    review = kinds.Kind("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview")
    spec = {"user": user.name, "groups": list(user.groups), "resourceAttributes": asked}
    made = {"apiVersion": review.api_version, "kind": review.kind, "metadata": {}, "spec": spec}
    return bool((await api.create(review, made))["status"]["allowed"])
