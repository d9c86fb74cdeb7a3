"""`plan TARGET --probe`: asks names and addresses in front of the control plane, from the computer that runs this.

Nothing is sent that says who asks: no credential, no client certificate, no proxy. A step takes 3 s at most, all of it
5 s, whatever stays silent: names are resolved by the system, in threads that a silent name server cannot keep the
program from ending by. A load balancer itself cannot be looked into: what that leaves open is a line of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import re
import socket
import ssl
import threading
import urllib.parse
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import aiohttp
import yarl

from topology_api import served
from topology_controller import terminal
from topology_controller._version import __version__
from topology_controller.kube import errors as kube
from topology_controller.kube import resource as resources
from topology_controller.observe import facts

from . import cluster, naming, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from . import answers

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Place = tuple[Address, int, str]  # an address, a port, and the name that TLS is asked for, where that matters
STEP_SECONDS, ALL_SECONDS = 3.0, 5.0
API_PORT, MACHINE_CONFIG_PORT, _HTTPS_PORT = 6443, 22623, 443
MOST_ADDRESSES, OF_NODES = 16, 10
"""Different addresses that are asked, and of them for nodes: five, each of two families."""
_INGRESSES: Final = resources.Resource("config.openshift.io", "v1", "ingresses", "Ingress")
_WILDCARD: Final = "console-openshift-console"
"""The name below *.apps that is resolved: a wildcard itself need not be a name that resolvers take."""
_HOST = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?\Z", re.ASCII)
_BLIND: Final = (
    "Not visible from here: where an address that is no node's leads (to which nodes, with which health check), and "
    "what machines of the cluster resolve these names to"
)
_ALONE: Final[dict[answers.Probed, tuple[answers.Finding, str]]] = {
    "API": ("APINameOnOneNode", "clients outside do not reach the API, although other nodes serve it"),
    "InternalAPI": ("APINameOnOneNode", "nodes do not reach the API, although other nodes serve it"),
    "Ingress": ("IngressNameOnOneNode", "routes cannot be reached, although other nodes may serve them"),
}
"""Of a name that leads to one node alone: the finding, and what holds without that node."""
_URLS: Final[dict[answers.Probed, str]] = {"API": "apiServerURL", "InternalAPI": "apiServerInternalURI"}
_OF_A_NODE: Final[dict[answers.Probed, tuple[int, str]]] = {
    "Node": (API_PORT, "/readyz answers on 6443"),
    "MachineConfigServer": (MACHINE_CONFIG_PORT, "22623 answers"),
}


class Name(NamedTuple):
    """A host whose addresses are asked on a port."""

    what: answers.Probed
    host: str
    port: int

    def __str__(self) -> str:
        return f"*{self.host.removeprefix(_WILDCARD)}" if self.what == "Ingress" else self.host

    def place(self, address: Address) -> Place:
        """Where this name is asked at one of its addresses; a router goes by the name."""
        return address, self.port, self.host if self.what == "Ingress" else ""


class Question(NamedTuple):
    """What is asked: names; nodes with their addresses; which name certificates are for; what cannot be asked."""

    names: tuple[Name, ...]
    nodes: tuple[tuple[str, Address], ...]
    server_name: str
    notes: tuple[str, ...] = ()


class Reply(NamedTuple):
    """What came of asking one address, or of resolving one name."""

    result: answers.Reached
    message: str


class Seen(NamedTuple):
    """Where each name leads (Reply: nowhere), what the places that were asked replied, addresses of this computer."""

    leads: dict[Name, tuple[Address, ...] | Reply]
    replies: dict[Place, Reply]
    here: frozenset[Address] = frozenset()


async def run(plan: answers.Plan, connection: cluster.Connection, known: facts.Facts) -> None:
    """Ask, and add to the plan what was seen. Raises PluginError when Infrastructure cannot be read any more."""
    infrastructure, ingress = await asyncio.gather(cluster.infrastructure(connection), _ingress(connection))
    asked = question(known, infrastructure, ingress, connection.server)
    direct = "Asked directly, not through the proxy that the API server is asked through"
    notes = [direct] if connection.client.proxy else []
    try:
        tls = connection.client.anonymous_tls()
    except (OSError, ValueError) as error:
        why = f"Nothing was asked: the authority of the kubeconfig cannot be used: {error}"
        return add(plan, Question((), (), "", (why,)), Seen({}, {}))
    if tls.verify_mode is ssl.CERT_NONE:
        notes.append("Certificates were not checked (--insecure-skip-tls-verify)")
    return add(plan, asked, await look(asked, tls), notes)


async def _ingress(connection: cluster.Connection) -> dict[str, Any] | str:
    try:
        return await connection.client.get(_INGRESSES, "cluster", timeout=STEP_SECONDS, retry=False)
    except kube.Forbidden as error:
        return connection.lacks(error)
    except kube.KubeError as error:
        return error.message or error.reason


def parsed(text: str) -> Address | None:
    """An address as it is compared: IPv4 that is written as IPv6 is IPv4. None for what is no address."""
    try:
        value = ipaddress.ip_address(text.strip().removeprefix("[").removesuffix("]"))
    except ValueError:
        return None
    return (value.ipv4_mapped or value) if isinstance(value, ipaddress.IPv6Address) else value


def question(
    known: facts.Facts, infrastructure: dict[str, Any], ingress: dict[str, Any] | str, server: str
) -> Question:
    """What to ask of this cluster. `ingress` is Ingress `cluster`, or why it could not be read; `server` a URL."""
    notes, names, status = list[str](), list[Name](), served.mapping(infrastructure.get("status"))
    for what, key in _URLS.items():
        place = _place(status.get(key))
        if place is None:
            notes.append(f"status.{key} of Infrastructure cluster is {_quoted(status.get(key))}: no URL of a server")
        else:
            names.append(Name(what, *place))
    api = next((name.host for name in names if name.what == "API"), "")
    names += _routes(ingress, api, notes)
    # An address that two nodes claim belongs to the first, and is asked once.
    owners: dict[Address, str] = {}
    nodes, without = known.control_plane_nodes, []
    if isinstance(nodes, facts.Unobserved):
        notes.append(f"Which addresses are those of control-plane nodes is not known: {nodes}")
        nodes = ()
    for node in nodes:
        texts, owner = (node.addresses, node.name) if isinstance(node, facts.Node) else ((), node.what)
        addresses = [address for address in map(parsed, texts) if address is not None]
        without += [] if addresses else [owner]
        for address in addresses:
            owners.setdefault(address, owner)
    if without:
        few = ", ".join(without[:3]) + (" and more" if len(without) > 3 else "")
        notes.append(f"Of {len(without)} control-plane nodes no InternalIP is known ({few}): they were not asked")
    place = _place(server)
    pairs = tuple((owner, address) for address, owner in owners.items())
    return Question(tuple(names), pairs, api or (place[0] if place else ""), tuple(notes))


def _place(url: object) -> tuple[str, int] | None:
    """Host and port of a URL, None when it is none: a status may hold anything."""
    if not isinstance(url, str):
        return None
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = (parts.hostname or "").removesuffix("."), parts.port or _HTTPS_PORT
    except ValueError:
        return None
    literal = parsed(host)
    if parts.scheme != "https" or (literal is None and not _HOST.match(host)):
        return None
    return (host if literal is None else str(literal)), port


def _routes(ingress: dict[str, Any] | str, api: str, notes: list[str]) -> Iterator[Name]:
    """The names below *.apps; where they cannot be read, derived from the API's name as the installer makes it."""
    if isinstance(ingress, str):
        domain = f"apps.{api.removeprefix('api.')}" if api.startswith("api.") else ""
        known = f"*.{domain} is derived from the name of the API" if domain else "the domain of *.apps is not known"
        notes.append(f"Ingress cluster could not be read ({ingress}): {known}")
        domains: list[Any] = [domain] if domain else []
    else:
        spec = served.mapping(ingress.get("spec"))
        domains = [spec.get("domain") or "", *([spec["appsDomain"]] if spec.get("appsDomain") else [])]
    for place, domain in enumerate(domains):
        host = f"{_WILDCARD}.{domain}"
        if not isinstance(domain, str) or not domain or not _HOST.match(host):
            notes.append(f"The domain of Ingress cluster is {_quoted(domain)}: no name that could be resolved")
        elif domain not in domains[:place]:
            yield Name("Ingress", host, _HTTPS_PORT)


def _quoted(value: object) -> str:
    return "not set" if value is None or value == "" else terminal.folded(repr(value), 80)


def _system(host: str) -> list[str]:
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]


async def look(question: Question, tls: ssl.SSLContext, lookup: Callable[[str], list[str]] | None = None) -> Seen:
    """Resolve and ask, all at once. `lookup` gives the addresses of a host, by default as the system does it."""
    clock = asyncio.get_running_loop().time
    end = clock() + ALL_SECONDS
    leads: dict[Name, tuple[Address, ...] | Reply] = {}
    replies: dict[Place, asyncio.Task[Reply]] = {}
    # Nothing of the environment: a proxy, passwords of ~/.netrc. What a stranger sends is not unpacked.
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=tls, limit=0, force_close=True),
        trust_env=False,
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": f"{naming.PROGRAM}/{__version__}", "Accept": "text/plain, */*"},
    )

    def left() -> float:
        return max(0.0, min(STEP_SECONDS, end - clock()))

    async with session, asyncio.TaskGroup() as group:

        def ask(address: Address, port: int, sni: str) -> None:
            """Begin to ask; two names that lead to the same place are one question. Only so many addresses are."""
            place, asked = (address, port, sni), {known for known, _, _ in replies}
            if place not in replies and (address in asked or len(asked) < MOST_ADDRESSES):
                only_tls = sni or port == MACHINE_CONFIG_PORT
                reply = _tls(*place) if only_tls else _readyz(session, question.server_name, address, port)
                replies[place] = group.create_task(_judged(reply, left()))

        async def follow(name: Name) -> None:
            literal = parsed(name.host)
            hosts = await _resolved(name.host, lookup or _system, left()) if literal is None else (literal,)
            leads[name] = hosts
            for address in () if isinstance(hosts, Reply) else hosts:
                ask(*name.place(address))

        for _, address in question.nodes[:OF_NODES]:
            for port, _ in _OF_A_NODE.values():
                ask(address, port, "")
        for name in question.names:
            group.create_task(follow(name))
    here = frozenset(filter(_is_here, {address for address, _, _ in replies}))
    return Seen(leads, {place: task.result() for place, task in replies.items()}, here)


async def _readyz(session: aiohttp.ClientSession, server_name: str, address: Address, port: int) -> Reply:
    url = yarl.URL.build(scheme="https", host=str(address), port=port, path="/readyz")
    host = f"[{server_name}]" if ":" in server_name else server_name
    headers, sni = {"Host": f"{host}:{port}"} if host else {}, server_name or None
    async with session.get(url, headers=headers, server_hostname=sni, allow_redirects=False) as response:
        body = (await response.content.read(4096)).decode("utf-8", "replace")
    if response.status == 200:
        return Reply("Ready", "/readyz answers ok")
    if response.status in {401, 403}:
        why = "whether it is ready is not said to a client without credentials"
    else:
        lines = [line for line in body.splitlines() if line.startswith("[-]")] or body.splitlines()
        why = terminal.folded("; ".join(lines), 160)
    return Reply("NotReady", f"/readyz answers HTTP {response.status}{f': {why}' if why else ''}")


async def _tls(address: Address, port: int, sni: str) -> Reply:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    # The machine config server and the router have authorities that no kubeconfig holds; nothing is sent to them.
    context.verify_mode = ssl.CERT_NONE
    _, writer = await asyncio.open_connection(str(address), port, ssl=context, server_hostname=sni or str(address))
    writer.transport.abort()
    return Reply("Ready", "answers with TLS; who certifies it was not checked")


async def _judged(ask: Any, seconds: float) -> Reply:
    try:
        async with asyncio.timeout(seconds):
            reply: Reply = await ask
            return reply
    except (aiohttp.ClientConnectorCertificateError, ssl.SSLCertVerificationError) as error:
        below = getattr(error, "certificate_error", error)
        why = getattr(below, "verify_message", "") or str(below)
        return Reply("BadCertificate", f"its certificate is not trusted by the kubeconfig: {why}")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        below = getattr(error, "os_error", error)
    if isinstance(below, ConnectionRefusedError):
        return Reply("Refused", "connection refused")
    if isinstance(below, TimeoutError):
        return Reply("TimedOut", f"no answer within {seconds:.2g} s")
    if isinstance(below, ConnectionError):
        return Reply("NotReady", "the connection was closed without an answer")
    why = getattr(below, "strerror", None) or str(below) or type(below).__name__
    if isinstance(below, OSError) and not isinstance(below, ssl.SSLError):
        return Reply("Refused", f"no connection from here: {why}")
    return Reply("NotReady", f"what listens there does not answer as it should: {why}")


async def _resolved(host: str, lookup: Callable[[str], list[str]], seconds: float) -> tuple[Address, ...] | Reply:
    """Where a host leads. A thread that waits for a name server cannot be ended: it is left behind, as a daemon."""
    loop = asyncio.get_running_loop()
    answers: asyncio.Queue[list[str] | Exception] = asyncio.Queue()

    def resolve() -> None:
        outcome: list[str] | Exception
        try:
            outcome = lookup(host)
        except (OSError, UnicodeError) as error:
            outcome = error
        # The loop has gone when the answer comes late.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(answers.put_nowait, outcome)

    threading.Thread(target=resolve, name=f"resolves {host}", daemon=True).start()
    try:
        async with asyncio.timeout(seconds):
            outcome = await answers.get()
    except TimeoutError:
        return Reply("Unresolved", f"no answer from the name servers of this computer within {seconds:.2g} s")
    if isinstance(outcome, Exception):
        return Reply("Unresolved", f"{getattr(outcome, 'strerror', None) or outcome}")
    addresses = tuple(dict.fromkeys(address for address in map(parsed, outcome) if address is not None))
    return addresses or Reply("Unresolved", "the name has no address")


def _is_here(address: Address) -> bool:
    """Is it this computer? The kernel answers from an address to itself; no packet is sent."""
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((str(address), API_PORT))
        return parsed(str(probe.getsockname()[0])) == address
    return False


def add(plan: answers.Plan, question: Question, seen: Seen, notes: Sequence[str] = ()) -> None:
    """Add to a plan what was seen, row by row, what follows from it, and what was seen of its checklist."""
    owners = {address: node for node, address in question.nodes}
    probes = [
        _row(what, f"{address}", node, seen.replies[address, port, ""], f"port {port}")
        for what, (port, _) in _OF_A_NODE.items()
        for node, address in question.nodes
        if (address, port, "") in seen.replies
    ]
    reached, lines = _reached(probes), [*question.notes, *notes]
    if missing := len(question.nodes) - sum(probe["what"] == "Node" for probe in probes):
        lines.append(f"{missing} of {len(question.nodes)} addresses of nodes were not asked: at most {OF_NODES} are")
    if any(probe["what"] == "MachineConfigServer" and probe["result"] != "Ready" for probe in probes):
        lines.append("Port 22623 has to answer inside the network of the cluster only: from here it need not")
    findings, sentences = [], []
    for name in question.names:
        addresses = seen.leads[name]
        if isinstance(addresses, Reply):
            probes.append(_row(name.what, name.host, None, addresses, f"{name}"))
            sentences.append(f"{name} is not resolved")
            continue
        places = {address: name.place(address) for address in addresses}
        replies = [(address, seen.replies[place]) for address, place in places.items() if place in seen.replies]
        probes += [_row(name.what, f"{address}", owners.get(address), reply, f"{name}") for address, reply in replies]
        if len(replies) < len(addresses):
            limit = f"at most {MOST_ADDRESSES} different addresses are"
            lines.append(f"{name} has {len(addresses)} addresses, of which {len(replies)} were asked: {limit}")
        if here := [address for address in addresses if address in seen.here - set(owners)]:
            another = "from another computer it may resolve elsewhere"
            lines.append(f"{name} resolves to this computer ({here[0]}): {another}")
        nodes = {owners.get(address) for address in addresses}
        node = nodes.pop() if len(nodes) == 1 else None
        sentences.append(f"{name} resolves to {_where(addresses, owners) if node is None else f'node {node} alone'}")
        if node is not None:
            finding, harm = _ALONE[name.what]
            message = (
                f"{name} resolves to node {node} alone ({', '.join(map(str, addresses[:2]))}): without that node "
                f"{harm}. Point the name to a load balancer in front of every node that serves it"
            )
            findings.append(simulate.item(finding, message))
    plan["probes"], plan["findings"], plan["probeNotes"] = probes, findings, [*lines, _BLIND]
    words = {"LoadBalancer": reached, "DNS": "; ".join(sentences) or "no name could be asked"}
    for step in (step for step in plan["checklist"] if step["name"] in words):
        step["message"] += f". Seen from here: {words[step['name']]}"


def _row(what: answers.Probed, place: str, node: str | None, reply: Reply, subject: str) -> answers.Probe:
    message = terminal.folded(f"{subject}: {reply.message}", 300)
    return {"what": what, "address": place, "node": node, "result": reply.result, "message": message}


def _where(addresses: tuple[Address, ...], owners: dict[Address, str]) -> str:
    nodes = sorted({owners[address] for address in addresses if address in owners})
    others = [f"{address}" for address in addresses if address not in owners]
    parts = [f"nodes {', '.join(nodes)}"] if nodes else []
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        parts.append(f"{others[0]}{more}, no address of a control-plane node")
    return " and ".join(parts)


def _reached(probes: Sequence[answers.Probe]) -> str:
    parts = []
    for what, (_, title) in _OF_A_NODE.items():
        rows = [probe for probe in probes if probe["what"] == what]
        silent = [f"{probe['node']} ({probe['result']})" for probe in rows if probe["result"] != "Ready"]
        if rows:
            missing = f", not {', '.join(silent)}" if silent else ""
            parts.append(f"{title} at {len(rows) - len(silent)} of {len(rows)} addresses of nodes{missing}")
    return "; ".join(parts) or "no address of a node could be asked"
