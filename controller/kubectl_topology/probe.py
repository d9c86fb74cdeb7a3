"""`plan TARGET --probe`: asks names and addresses in front of the control plane, from the computer that runs this.

Nothing is sent that says who asks: no credential, no client certificate, no proxy. A step takes 3 s at most, all of it
5 s, whatever stays silent: names are resolved by the system (hosts file, name servers), in threads that a silent name
server cannot keep the program from ending by. Which names and addresses, and what follows: `front`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from typing import TYPE_CHECKING, Any, Final

import aiohttp
import yarl

from topology_controller import terminal
from topology_controller._version import __version__
from topology_controller.kube import errors as kube
from topology_controller.kube import resource as resources

from . import cluster, front, naming

if TYPE_CHECKING:
    from collections.abc import Callable

    from topology_controller.observe import facts

STEP_SECONDS: Final = 3.0
"""For resolving one name, and for one address."""
ALL_SECONDS: Final = 5.0
_INGRESSES: Final = resources.Resource("config.openshift.io", "v1", "ingresses", "Ingress")
_DIRECT: Final = "Asked directly, not through the proxy that the API server is asked through"
_UNCHECKED: Final = "Certificates were not checked (--insecure-skip-tls-verify)"


async def run(connection: cluster.Connection, known: facts.Facts) -> front.Answer:
    """Ask, and say what was seen. Raises PluginError when Infrastructure cannot be read any more."""
    infrastructure, ingress = await asyncio.gather(cluster.infrastructure(connection), _ingress(connection))
    question = front.question(known, infrastructure, ingress, connection.server)
    notes = [_DIRECT] if connection.client.has_proxy else []
    try:
        tls = connection.client.anonymous_tls()
    except (OSError, ValueError) as error:
        why = f"Nothing was asked: the authority of the kubeconfig cannot be used: {error}"
        return front.answer(front.Question((), (), "", (why,)), front.Seen({}, {}))
    if tls.verify_mode is ssl.CERT_NONE:
        notes.append(_UNCHECKED)
    return front.answer(question, await look(question, tls), notes)


async def _ingress(connection: cluster.Connection) -> dict[str, Any] | str:
    try:
        return await connection.client.get(_INGRESSES, "cluster", timeout=STEP_SECONDS, retry=False)
    except kube.Forbidden as error:
        return connection.lacks(error)
    except kube.KubeError as error:
        return error.message or error.reason


async def look(
    question: front.Question, tls: ssl.SSLContext, lookup: Callable[[str], list[str]] | None = None
) -> front.Seen:
    """Resolve and ask, all at once. `lookup` gives the addresses of a host, by default as the system does it."""

    def system(host: str) -> list[str]:
        return [str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]

    clock = asyncio.get_running_loop().time
    end = clock() + ALL_SECONDS
    leads: dict[front.Name, tuple[front.Address, ...] | front.Reply] = {}
    replies: dict[front.Place, asyncio.Task[front.Reply]] = {}
    addresses: dict[front.Address, None] = {}
    # Nothing of the environment: it may name a proxy, and ~/.netrc has passwords.
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=tls, limit=0, force_close=True),
        trust_env=False,
        # What a stranger sends is not unpacked.
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": f"{naming.PROGRAM}/{__version__}", "Accept": "text/plain, */*"},
    )

    def left() -> float:
        return max(0.0, min(STEP_SECONDS, end - clock()))

    async with session, asyncio.TaskGroup() as group:

        def ask(place: front.Place, *, api: bool) -> None:
            """Begin to ask; two names that lead to the same place are one question. Only so many addresses are."""
            address, port, sni = place
            if address not in addresses and len(addresses) >= front.MOST_ADDRESSES:
                return
            addresses[address] = None
            if place not in replies:
                reply = _readyz(session, question.server_name, address, port) if api else _tls(address, port, sni)
                replies[place] = group.create_task(_judged(reply, left()))

        async def follow(name: front.Name) -> None:
            literal = front.parsed(name.host)
            hosts = await _resolved(name.host, lookup or system, left()) if literal is None else (literal,)
            leads[name] = hosts
            for address in () if isinstance(hosts, front.Reply) else hosts:
                ask(name.place(address), api=name.what != "Ingress")

        for address in (address for _, address in question.nodes[: front.OF_NODES]):
            ask((address, front.API_PORT, ""), api=True)
            ask((address, front.MACHINE_CONFIG_PORT, ""), api=False)
        for name in question.names:
            group.create_task(follow(name))
    here = frozenset(filter(_is_here, addresses))
    return front.Seen(leads, {place: task.result() for place, task in replies.items()}, here)


async def _readyz(session: aiohttp.ClientSession, server_name: str, address: front.Address, port: int) -> front.Reply:
    """Ask an API server for /readyz."""
    url = yarl.URL.build(scheme="https", host=str(address), port=port, path="/readyz")
    host = f"[{server_name}]" if ":" in server_name else server_name
    headers = {"Host": f"{host}:{port}"} if host else {}
    async with session.get(
        url, headers=headers, server_hostname=server_name or None, allow_redirects=False
    ) as response:
        body = (await response.content.read(4096)).decode("utf-8", "replace")
    if response.status == 200:
        return front.Reply("Ready", "/readyz answers ok")
    if response.status in {401, 403}:
        why = "whether it is ready is not said to a client without credentials"
    else:
        lines = [line for line in body.splitlines() if line.startswith("[-]")] or body.splitlines()
        why = terminal.folded("; ".join(lines), 160)
    return front.Reply("NotReady", f"/readyz answers HTTP {response.status}{f': {why}' if why else ''}")


async def _tls(address: front.Address, port: int, sni: str) -> front.Reply:
    """Ask whether TLS is spoken; the certificate is not looked at."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    # The machine config server and the router have authorities that no kubeconfig holds; nothing is sent to them.
    context.verify_mode = ssl.CERT_NONE
    _, writer = await asyncio.open_connection(str(address), port, ssl=context, server_hostname=sni or str(address))
    writer.transport.abort()
    return front.Reply("Ready", "answers with TLS; who certifies it was not checked")


async def _judged(ask: Any, seconds: float) -> front.Reply:
    """What came of it, in our words."""
    try:
        async with asyncio.timeout(seconds):
            reply: front.Reply = await ask
            return reply
    except (aiohttp.ClientConnectorCertificateError, ssl.SSLCertVerificationError) as error:
        below = getattr(error, "certificate_error", error)
        why = getattr(below, "verify_message", "") or str(below)
        return front.Reply("BadCertificate", f"its certificate is not trusted by the kubeconfig: {why}")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        below = getattr(error, "os_error", error)
    if isinstance(below, ConnectionRefusedError):
        return front.Reply("Refused", "connection refused")
    if isinstance(below, TimeoutError):
        return front.Reply("TimedOut", f"no answer within {seconds:.2g} s")
    if isinstance(below, ConnectionError):
        return front.Reply("NotReady", "the connection was closed without an answer")
    why = (isinstance(below, OSError) and below.strerror) or str(below) or type(below).__name__
    if isinstance(below, OSError) and not isinstance(below, ssl.SSLError):
        return front.Reply("Refused", f"no connection from here: {why}")
    return front.Reply("NotReady", f"what listens there does not answer as it should: {why}")


async def _resolved(
    host: str, lookup: Callable[[str], list[str]], seconds: float
) -> tuple[front.Address, ...] | front.Reply:
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
        outcome = await asyncio.wait_for(answers.get(), seconds)
    except TimeoutError:
        return front.Reply("Unresolved", f"no answer from the name servers of this computer within {seconds:.2g} s")
    if isinstance(outcome, Exception):
        return front.Reply("Unresolved", f"{getattr(outcome, 'strerror', None) or outcome}")
    parsed = tuple(dict.fromkeys(address for address in map(front.parsed, outcome) if address is not None))
    return parsed or front.Reply("Unresolved", "the name has no address")


def _is_here(address: front.Address) -> bool:
    """Is it this computer? The kernel answers from an address to itself; no packet is sent."""
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((str(address), front.API_PORT))
        return front.parsed(str(probe.getsockname()[0])) == address
    return False
