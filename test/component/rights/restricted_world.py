"""A cluster on the real API server in which the operator runs as what it is in production: its own ServiceAccount.

The manifests are applied as an administrator does it (`cluster-topology-operator manifests`, kubectl apply), the token
comes from the TokenRequest API, and the operator speaks TLS to kube-apiserver with nothing in between. `SharedCluster`
is where all tests of a folder have theirs: the manifests are applied once. `RestrictedWorld` is one test's view of it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import ssl
import sys
from typing import TYPE_CHECKING, Any

from test import polling, processes
from test.component import backend, cluster, definitions, phases, reactors, real
from test.component import world as worlds
from test.component.rights import grants
from topology_simulator import binaries, install, kinds, kubeconfig, machine_api, serving
from topology_simulator import client as clients

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Awaitable, Iterable

    from test.component import process
    from topology_simulator.envtest import audit

ACCOUNT = "cluster-topology-operator"
DNSMASQ = "50-master-dnsmasq-configuration"
SECRETS = kinds.Kind("", "secrets", "Secret", namespaced=True)
_REVIEWS = kinds.Kind("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview")
_OWN_REVIEWS = kinds.Kind("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview")
_BROUGHT = [kinds.Kind(one.group, one.plural, one.kind, one.namespaced, one.version) for one in phases.UNSERVED]


class SharedCluster:
    """The server under all stages of a folder, with the manifests applied."""

    def __init__(self, session: real.Session) -> None:
        self.session = session
        self._rules: frozenset[tuple[str, str]] | None = None

    async def prepare(self, api: clients.Client) -> None:
        """Make the cluster as no story has been there, but for what the manifests say about requests."""
        await self.session.furnish(cluster.SHAPE)
        if self._rules is None:
            await _apply_manifests(self.session)
            self._rules = await self.session.keep_rules()
            await api.delete(kinds.CLUSTER_OPERATORS, "topology")
            return
        for one in grants.rendered():
            if one["kind"] == kinds.CONFIG_MAPS.kind:
                await api.create(kinds.CONFIG_MAPS, one)

    def leave(self) -> None:
        """Let what the manifests say about requests go before the next test."""
        if self._rules is not None:
            self.session.keep_only(self._rules)

    async def token(self, api: clients.Client, *, bound_to: dict[str, Any] | None = None) -> str:
        """Have a token issued for the ServiceAccount; it ends with the Secret that it is bound to."""
        request: dict[str, Any] = {"spec": {"expirationSeconds": 3600}}
        if bound_to is not None:
            meta = bound_to["metadata"]
            request["spec"]["boundObjectRef"] = {
                "apiVersion": "v1", "kind": "Secret", "name": meta["name"], "uid": meta["uid"],
            }  # fmt: skip
        path = f"serviceaccounts/{ACCOUNT}/token"
        kind = kinds.Kind("", path, "TokenRequest", namespaced=True)
        made = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "metadata": {"namespace": cluster.OWN_NAMESPACE},
            **request,
        }
        return str((await api.create(kind, made))["status"]["token"])


class RestrictedWorld(worlds.World):
    """One story: its cluster, its neighbours, and an operator with the rights of the manifests, or all but some."""

    def __init__(
        self,
        ground: SharedCluster,
        server: backend.Real,
        folder: pathlib.Path,
        api: clients.Client,
        living: tuple[reactors.Echo, reactors.Operands],
    ) -> None:
        super().__init__(server, folder, api, living)
        self.ground = ground
        self.through_proxy = False
        self.serving = serving.Serving(folder / "tls", ground.session.server.client_authority)
        self.flags = ("--serving-cert-dir", str(self.serving.certificates))
        self.tls = ssl.create_default_context(cadata=(self.serving.certificates / "ca.crt").read_text())
        self.audit = ground.session.server.audit()
        self._asked: list[audit.Event] = []
        self._scraper: ssl.SSLContext | None = None

    def access(self) -> dict[str, Any]:
        """Let operators speak to kube-apiserver itself, unless `through_proxy` is set."""
        return self.server.kubeconfig() if self.through_proxy else self.ground.session.server.kubeconfig()

    async def token_of(self, _name: str, /) -> str:
        """Have a new token issued for the ServiceAccount."""
        return await self.ground.token(self.api)

    def scraper(self) -> ssl.SSLContext:
        """Return the way in of the cluster's Prometheus, who may read the metrics."""
        if self._scraper is None:
            self._scraper = self.serving.tls()
        return self._scraper

    async def add_machines(self) -> None:
        """Let every control-plane node stand on a Machine that runs, and that on a host."""
        for obj in (one for node in cluster.MASTERS for one in machine_api.installed(node, bare_metal=True)):
            created = await self.api.create(kinds.kind_of(obj), obj)
            await install.put_status(self.api, kinds.kind_of(obj), {**created, "status": obj["status"]})

    @contextlib.asynccontextmanager
    async def lifecycle_agent(self) -> AsyncIterator[None]:
        """Let the cluster know the kinds that the lifecycle agent and others bring."""
        made = [await self.api.create(kinds.DEFINITIONS, install.of_anything(kind)) for kind in _BROUGHT]
        try:
            for kind in _BROUGHT:
                await definitions.until_served(self.api, kind)
            yield
        finally:
            for one in made:
                await self.api.delete(kinds.DEFINITIONS, one["metadata"]["name"])

    # -- rights

    async def take(self, *missing: grants.Grant) -> None:
        """Take rights away, and wait until that counts."""
        await self._write_roles(missing)
        for grant in missing:
            await polling.until(f"nobody may {grant}", functools.partial(self._denied, grant))

    async def give_back(self) -> None:
        """Grant what the manifests grant, and wait until that counts."""
        altered = await self._write_roles(())
        for grant in altered:
            await polling.until(f"the operator may {grant}", functools.partial(self.allowed, grant.attributes()))

    async def allowed(self, attributes: dict[str, str]) -> bool:
        """Ask the server what the operator's account may do."""
        return await _reviewed(
            self.api,
            _REVIEWS,
            {"user": real.OPERATOR.name, "groups": real.OPERATOR.groups} | {"resourceAttributes": attributes},
        )

    @contextlib.asynccontextmanager
    async def as_operator(self, token: str = "") -> AsyncIterator[clients.Client]:
        """Lend a client with a token of the operator's account, by default a new one."""
        token = token or await self.ground.token(self.api)
        content = self.ground.session.server.kubeconfig(token)
        async with clients.Client(kubeconfig.access(content), "somebody") as api:
            yield api

    async def _denied(self, grant: grants.Grant) -> bool:
        return not await self.allowed(grant.attributes())

    async def _write_roles(self, missing: Iterable[grants.Grant]) -> list[grants.Grant]:
        """Write the roles that differ from what they are to be; return what is granted anew."""
        gone = set(missing)
        altered = []
        for role in grants.roles():
            meta = role["metadata"]
            kind = kinds.Kind(grants.RBAC, f"{role['kind'].lower()}s", role["kind"], namespaced="namespace" in meta)
            wanted = grants.without(role, gone) if gone & set(grants.of(role)) else role
            there = await self.api.get(kind, meta["name"], meta.get("namespace", ""))
            if there["rules"] != wanted["rules"]:
                await self.api.patch(kind, meta["name"], {"rules": wanted["rules"]}, meta.get("namespace", ""))
                altered += [one for one in grants.of(wanted) if one not in grants.of(there)]
        return altered

    # -- what was asked

    def asked(self) -> list[audit.Event]:
        """Everything that the operator has asked in this story."""
        self._asked += [one for one in self.audit.read() if one.user == real.OPERATOR.name]
        return self._asked

    def refused(self) -> list[audit.Event]:
        """What of that was answered with 401 or 403, or not allowed."""
        return [one for one in self.asked() if one.code in {401, 403} or not one.allowed]


async def until_known(
    staged: RestrictedWorld, operator: process.Operator, wanted: tuple[int, str] = (403, 'may not get "/metrics"')
) -> None:
    """Ask for /metrics with a token of the operator's own account, which may not, until this is said of it."""
    token = {"Authorization": f"Bearer {await staged.ground.token(staged.api)}"}
    code, text = await operator.ask("/metrics", headers=token)
    assert (code, wanted[1] in text) == (wanted[0], True), (code, text)


async def may(api: clients.Client, attributes: dict[str, str]) -> bool:
    """Ask the server what whoever has this client may do."""
    return await _reviewed(api, _OWN_REVIEWS, {"resourceAttributes": attributes})


async def code_of(attempt: Awaitable[object]) -> int:
    """Return the HTTP status that a request ended with."""
    try:
        await attempt
    except clients.ApiError as error:
        return error.code
    return 200


async def _reviewed(api: clients.Client, kind: kinds.Kind, spec: dict[str, Any]) -> bool:
    made = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {}, "spec": spec}
    return bool((await api.create(kind, made))["status"]["allowed"])


@contextlib.asynccontextmanager
async def opened(ground: SharedCluster, folder: pathlib.Path) -> AsyncIterator[RestrictedWorld]:
    """Open a stage with a cluster of three good nodes; nobody requests anything, and all rights are there."""
    async with contextlib.AsyncExitStack() as stack:
        # Its proxy is between the server and everybody but the operator: a test can come in between.
        server = backend.Real(ground.session)
        await server.start()
        stack.push_async_callback(server.stop)
        access = kubeconfig.access(server.kubeconfig())
        api = await stack.enter_async_context(clients.Client(access, "administrator"))
        await ground.prepare(api)
        living = await stack.enter_async_context(reactors.living(access))
        made = RestrictedWorld(ground, server, folder, api, living)
        await made.give_back()
        stack.push_async_callback(made.give_back)
        stack.push_async_callback(worlds.end, made, lacks_rights=True)
        yield made


async def _apply_manifests(session: real.Session) -> None:
    """Print the manifests with the operator's own command and apply them with kubectl."""
    printed = await _run(sys.executable, "-m", "topology_deploy", "manifests")
    file = session.server.folder / "administrator.kubeconfig"
    file.write_text(json.dumps(session.server.kubeconfig()))
    kubectl = str(binaries.folder() / "kubectl")
    await _run(kubectl, "--kubeconfig", str(file), "apply", "-f", "-", given=printed)


async def _run(*command: str, given: str = "") -> str:
    ended = await processes.run(*command, given=given)
    assert ended.code == 0, f"{command}: {ended}"
    return ended.printed
