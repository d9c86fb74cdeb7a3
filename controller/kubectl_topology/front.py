"""What stands in front of the control plane, as far as it can be seen from here: names, addresses, and what follows.

Pure. `question` makes what is to be asked of what the API says, `probe` asks, and `answer` says which address belongs
to which node. A load balancer itself cannot be looked into: what that leaves open is a line of its own.
"""

from __future__ import annotations

import ipaddress
import re
import urllib.parse
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from topology_controller import terminal
from topology_controller.observe import facts

from . import simulate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from . import answers

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Place = tuple[Address, int, str]
"""What is asked: an address, a port, and the name that TLS is asked for, where that matters."""
API_PORT: Final = 6443
MACHINE_CONFIG_PORT: Final = 22623
HTTPS_PORT: Final = 443
MOST_ADDRESSES: Final = 16
"""Different addresses that are asked, nodes first."""
OF_NODES: Final = 10
"""Of them for nodes: five, each of two families. The rest is for what names lead to."""
_WILDCARD: Final = "console-openshift-console"
"""The name below *.apps that is resolved: a wildcard itself need not be a name that resolvers take."""
_HOST = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?\Z", re.ASCII)
_FEW: Final = 3
_URLS: Final[tuple[tuple[answers.Probed, str], ...]] = (
    ("API", "apiServerURL"),
    ("InternalAPI", "apiServerInternalURI"),
)
_API_PREFIX: Final = "api."
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
_OF_A_NODE: Final[tuple[tuple[answers.Probed, int], ...]] = (
    ("Node", API_PORT),
    ("MachineConfigServer", MACHINE_CONFIG_PORT),
)
_INSIDE: Final = "Port 22623 has to answer inside the network of the cluster only: from here it need not"


@dataclass(frozen=True, slots=True)
class Name:
    """A host whose addresses are asked on a port. `label` is what people call it, where that is not the host."""

    what: answers.Probed
    host: str
    port: int
    label: str = ""

    def __str__(self) -> str:
        return self.label or self.host

    def place(self, address: Address) -> Place:
        """Where this name is asked at one of its addresses; a router goes by the name."""
        return address, self.port, self.host if self.what == "Ingress" else ""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: names; nodes with their addresses; which name certificates are for; what cannot be asked."""

    names: tuple[Name, ...]
    nodes: tuple[tuple[str, Address], ...]
    server_name: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of asking one address, or of resolving one name."""

    result: answers.Reached
    message: str


@dataclass(frozen=True, slots=True)
class Seen:
    """Where each name leads (Reply: nowhere), what the places that were asked replied, addresses of this computer."""

    leads: dict[Name, tuple[Address, ...] | Reply]
    replies: dict[Place, Reply]
    here: frozenset[Address] = field(default_factory=frozenset)


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
    notes: list[str] = []
    status = infrastructure.get("status")
    urls: dict[str, Any] = status if isinstance(status, dict) else {}
    names: list[Name] = []
    for what, key in _URLS:
        place = _place(urls.get(key))
        if place is None:
            notes.append(f"status.{key} of Infrastructure cluster is {_quoted(urls.get(key))}: no URL of a server")
        else:
            names.append(Name(what, *place))
    api = next((name.host for name in names if name.what == "API"), "")
    names += _ingress(ingress, api, notes)
    # An address that two nodes claim belongs to the first, and is asked once.
    owners: dict[Address, str] = {}
    for node, address in _addresses(known.control_plane_nodes, notes):
        owners.setdefault(address, node)
    nodes = tuple((node, address) for address, node in owners.items())
    place = _place(server)
    return Question(tuple(names), nodes, api or (place[0] if place else ""), tuple(notes))


def _addresses(
    nodes: facts.Fact[tuple[facts.Fact[facts.Node], ...]], notes: list[str]
) -> Iterator[tuple[str, Address]]:
    if isinstance(nodes, facts.Unobserved):
        notes.append(f"Which addresses are those of control-plane nodes is not known: {nodes}")
        return
    without = []
    for node in nodes:
        texts, name = (node.addresses, node.name) if isinstance(node, facts.Node) else ((), node.what)
        addresses = [address for address in map(parsed, texts) if address is not None]
        yield from ((name, address) for address in addresses)
        if not addresses:
            without.append(name)
    if without:
        few = ", ".join(without[:_FEW]) + (" and more" if len(without) > _FEW else "")
        notes.append(f"Of {len(without)} control-plane nodes no InternalIP is known ({few}): they were not asked")


def _place(url: object) -> tuple[str, int] | None:
    """Host and port of a URL, None when it is none: a status may hold anything."""
    if not isinstance(url, str):
        return None
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = (parts.hostname or "").removesuffix("."), parts.port or HTTPS_PORT
    except ValueError:
        return None
    literal = parsed(host)
    if parts.scheme != "https" or (literal is None and not _HOST.match(host)):
        return None
    return (host if literal is None else str(literal)), port


def _ingress(ingress: dict[str, Any] | str, api: str, notes: list[str]) -> Iterator[Name]:
    """The names below *.apps; where they cannot be read, derived from the API's name as the installer makes it."""
    if isinstance(ingress, str):
        domain = f"apps.{api.removeprefix(_API_PREFIX)}" if api.startswith(_API_PREFIX) else ""
        known = f"*.{domain} is derived from the name of the API" if domain else "the domain of *.apps is not known"
        notes.append(f"Ingress cluster could not be read ({ingress}): {known}")
        domains: list[Any] = [domain] if domain else []
    else:
        spec = ingress.get("spec")
        fields: dict[str, Any] = spec if isinstance(spec, dict) else {}
        domains = [fields.get("domain") or "", *([fields["appsDomain"]] if fields.get("appsDomain") else [])]
    for place, domain in enumerate(domains):
        host = f"{_WILDCARD}.{domain}"
        if not isinstance(domain, str) or not domain or not _HOST.match(host):
            notes.append(f"The domain of Ingress cluster is {_quoted(domain)}: no name that could be resolved")
        elif domain not in domains[:place]:
            yield Name("Ingress", host, HTTPS_PORT, f"*.{domain}")


def _quoted(value: object) -> str:
    return "not set" if value is None or value == "" else terminal.folded(repr(value), 80)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a plan says of a probe, as `answers.Plan` has it."""

    probes: list[answers.Probe]
    findings: list[answers.Expected]
    notes: list[str]
    words: dict[str, str]
    """By the name of an entry of the checklist: what was seen of it."""


def answer(question: Question, seen: Seen, notes: Sequence[str] = ()) -> Answer:
    """What was seen, row by row, and what follows from it."""
    owners = {address: node for node, address in question.nodes}
    probes = [
        _row(what, f"{address}", node, seen.replies[address, port, ""], f"port {port}")
        for what, port in _OF_A_NODE
        for node, address in question.nodes
        if (address, port, "") in seen.replies
    ]
    reached, lines = _reached(probes), [*question.notes, *notes]
    if missing := len(question.nodes) - sum(probe["what"] == "Node" for probe in probes):
        lines.append(f"{missing} of {len(question.nodes)} addresses of nodes were not asked: at most {OF_NODES} are")
    if any(probe["what"] == "MachineConfigServer" and probe["result"] != "Ready" for probe in probes):
        lines.append(_INSIDE)
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
            lines.append(
                f"{name} resolves to this computer ({here[0]}): from another computer it may resolve elsewhere"
            )
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
    words = {"LoadBalancer": reached, "DNS": "; ".join(sentences) or "no name could be asked"}
    return Answer(probes, findings, [*lines, _BLIND], words)


def _row(what: answers.Probed, place: str, node: str | None, reply: Reply, subject: str) -> answers.Probe:
    message = terminal.folded(f"{subject}: {reply.message}", 300)
    return {"what": what, "address": place, "node": node, "result": reply.result, "message": message}


def _where(addresses: tuple[Address, ...], owners: dict[Address, str]) -> str:
    nodes = sorted({owners[address] for address in addresses if address in owners})
    others = [f"{address}" for address in addresses if address not in owners]
    more = f" and {len(others) - 1} more" if len(others) > 1 else ""
    foreign = [f"{others[0]}{more}, no address of a control-plane node"] if others else []
    return " and ".join([*([f"nodes {', '.join(nodes)}"] if nodes else []), *foreign])


def _reached(probes: Sequence[answers.Probe]) -> str:
    """How many nodes answered, and which did not."""
    parts = []
    for what, title in (("Node", "/readyz answers on 6443"), ("MachineConfigServer", "22623 answers")):
        rows = [probe for probe in probes if probe["what"] == what]
        silent = [f"{probe['node']} ({probe['result']})" for probe in rows if probe["result"] != "Ready"]
        if rows:
            missing = f", not {', '.join(silent)}" if silent else ""
            parts.append(f"{title} at {len(rows) - len(silent)} of {len(rows)} addresses of nodes{missing}")
    return "; ".join(parts) or "no address of a node could be asked"


def with_sightings(checklist: Sequence[answers.Expected], words: dict[str, str]) -> list[answers.Expected]:
    """The checklist with what was seen of its entries."""
    seen = {name: f". Seen from here: {text}" for name, text in words.items()}
    return [{**step, "message": step["message"] + seen.get(step["name"], "")} for step in checklist]
