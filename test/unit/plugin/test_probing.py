"""`plan --probe`: what is asked of a cluster, what real listeners answer, and what is said of it."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import random
import time
from typing import TYPE_CHECKING, Any

import pytest
from test import kubeconfigs
from test.component import desk

from kubectl_topology import cluster, probe, simulate
from topology_controller.kube import client as clients
from topology_controller.kube import config
from topology_controller.observe import facts
from topology_simulator.etcd import certificates

from ..core import worlds
from . import replies

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

API_URL, INTERNAL_URL = "https://api.edge.example.com:6443", "https://api-int.edge.example.com:6443"
INGRESS = {"spec": {"domain": "apps.edge.example.com"}}
HOST = "api.edge.example.com"
SERVER = "https://127.0.0.1:6443"
GIVEN_UP_SECONDS = 60.0
"""What a bounded step may take on a busy machine. Without its bound it lasts for ever."""


def asked(url: Any = API_URL, ingress: Any = INGRESS, nodes: Any = None) -> probe.Question:
    known = worlds.healthy() if nodes is None else worlds.healthy(control_plane_nodes=nodes)
    status = {"apiServerURL": url, "apiServerInternalURI": INTERNAL_URL}
    return probe.question(known, {"status": status}, ingress, SERVER)


# -- what is asked


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://192.0.2.10:6443", ("192.0.2.10", 6443)),
        ("https://[2001:DB8:0::10]:6443", ("2001:db8::10", 6443)),
        ("https://[::ffff:192.0.2.10]:6443", ("192.0.2.10", 6443)),
        ("https://api.edge.example.com.", ("api.edge.example.com", 443)),
        ("https://user:word@api.edge.example.com:8443/path?query", ("api.edge.example.com", 8443)),
    ],
)
def test_an_api_url_is_read_as_host_and_port(url: str, place: tuple[str, int]) -> None:
    name = asked(url).names[0]
    assert (name.what, name.host, name.port) == ("API", *place)


@pytest.mark.parametrize(
    "url",
    [
        None, "", "api.edge.example.com:6443", "http://api.edge.example.com:6443", "https://", "https://[::1",
        "https://api:999999", "https://\x1b[31mapi:6443", "https://a b:6443", "https://*.apps:6443",
        f"https://{'a' * 254}:6443", 6443, ["https://api:6443"], "https://\N{CYRILLIC SMALL LETTER A}pi",
    ],
)  # fmt: skip
def test_what_is_no_url_is_said_and_the_rest_is_asked(url: Any) -> None:
    question = asked(url)
    assert [name.what for name in question.names] == ["InternalAPI", "Ingress"]
    (note,) = question.notes
    assert note.startswith("status.apiServerURL of Infrastructure cluster is ")
    assert note.isprintable()
    assert len(note) < 200
    # Then certificates are those of the server that the kubeconfig names.
    assert question.server_name == "127.0.0.1"


def test_what_may_not_be_read_is_said_and_the_rest_is_asked() -> None:
    for domain in (None, 7, ["x"], "\x1b[31m", "a b", "x" * 300, "-.-"):
        question = asked(ingress={"spec": {"domain": domain}})
        assert [name.what for name in question.names] == ["API", "InternalAPI"]
        assert question.notes[0].startswith("The domain of Ingress cluster is ")
        assert question.notes[0].isprintable()
    question = probe.question(worlds.healthy(), {"status": ["x"]}, "forbidden", SERVER)
    assert (len(question.names), len(question.nodes)) == (0, 3)
    assert "the domain of *.apps is not known" in question.notes[-1]
    question = asked(nodes=facts.Unobserved("nodes", "forbidden: you need permission to list nodes"))
    assert (len(question.names), len(question.nodes)) == (3, 0)
    assert "you need permission to list nodes" in question.notes[0]


def test_ten_thousand_nodes_are_ten_addresses_and_two_lines() -> None:
    node = next(node for node in worlds.healthy().control_plane_nodes if isinstance(node, facts.Node))  # type: ignore[union-attr] # they are known
    crowd = [
        dataclasses.replace(node, name=f"master-{number}", addresses=(f"10.0.{number // 250}.{number % 250}",))
        for number in range(5000)
    ]
    crowd += [dataclasses.replace(node, name=f"bare-{number}", addresses=()) for number in range(5000)]
    question = asked(nodes=tuple(crowd))
    assert len(question.nodes[: probe.OF_NODES]) == 10
    assert question.notes == (
        "Of 5000 control-plane nodes no InternalIP is known (bare-0, bare-1, bare-2 and more): they were not asked",
    )


# -- what listeners answer


class Site:
    """Listeners on loopback addresses of their own."""

    def __init__(self, folder: pathlib.Path) -> None:
        authority = desk.certified(folder, HOST)
        client = certificates.Authority("clients").client("administrator")
        self.listening = desk.Listening(folder)
        self._net = f"127.{random.randrange(10, 250)}.{random.randrange(250)}"  # noqa: S311 - tests that run at once
        in_base64 = {name: base64.b64encode(text).decode() for name, text in
                     (("ca", authority), ("certificate", client.certificate), ("key", client.key))}  # fmt: skip
        user = {
            "token": "secret-token",
            "client-certificate-data": in_base64["certificate"],
            "client-key-data": in_base64["key"],
        }
        authority_data = {"certificate-authority-data": in_base64["ca"]}
        self._kubeconfig = kubeconfigs.written(folder / "kubeconfig", SERVER, user, **authority_data)

    def address(self, number: int) -> str:
        return f"{self._net}.{number}"

    async def look(self, question: probe.Question, *, verify: bool = True, lookup: Any = None) -> Any:
        configuration = await config.load(self._kubeconfig)
        configuration.verify_ssl = verify
        async with clients.Client(configuration, user_agent="t", field_manager="t") as client:
            tls = client.anonymous_tls()
        return answered(question, await probe.look(question, tls, lookup))


@pytest.fixture
async def site(tmp_path: pathlib.Path) -> AsyncIterator[Site]:
    made = Site(tmp_path)
    yield made
    made.listening.close()


def question(nodes: dict[str, str], *names: probe.Name) -> probe.Question:
    pairs = tuple((node, probe.parsed(text)) for node, text in nodes.items())
    return probe.Question(names, pairs, HOST)  # type: ignore[arg-type] # each is an address


def answered(question: probe.Question, seen: probe.Seen) -> Any:
    plan: Any = {"checklist": [simulate.item("LoadBalancer", ""), simulate.item("DNS", "")]}
    probe.add(plan, question, seen)
    return plan


def table(answer: Any) -> dict[tuple[str, str], str]:
    return {(row["what"], row["address"]): row["result"] for row in answer["probes"]}


async def test_real_listeners_are_told_apart_and_learn_nothing_of_the_user(site: Site) -> None:
    kinds = {1: "ready", 2: "not-ready", 3: "stranger", 4: "hidden", 5: "cut", 6: "plain"}
    for number, kind in kinds.items():
        await site.listening.start(site.address(number), desk.API, kind)
    nodes = {f"master-{number}": site.address(number) for number in range(1, 8)}
    answer = await site.look(question(nodes))
    results = [row["result"] for row in answer["probes"] if row["what"] == "Node"]
    assert results == ["Ready", "NotReady", "BadCertificate", "NotReady", "NotReady", "NotReady", "Refused"]
    assert all(row["result"] == "Refused" for row in answer["probes"] if row["what"] == "MachineConfigServer")
    messages = " ".join(row["message"] for row in answer["probes"])
    assert messages.isprintable()
    assert "[-]etcd failed: [2Jreason withheld" in messages
    assert len(site.listening.asked) >= 4
    for request in site.listening.asked:
        assert "secret-token" not in str(request)
        assert "Authorization" not in request["headers"]
        assert not request["certificate"], "a certificate of the kubeconfig was shown"


async def test_a_certificate_for_another_name_is_no_answer(site: Site) -> None:
    await site.listening.start(site.address(1), desk.API, "ready")
    elsewhere = question({"master-0": site.address(1)})._replace(server_name="api.other.example.com")
    assert table(await site.look(elsewhere))["Node", site.address(1)] == "BadCertificate"
    assert table(await site.look(elsewhere, verify=False))["Node", site.address(1)] == "Ready"


async def test_all_of_it_has_one_bound(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "STEP_SECONDS", 600.0)
    monkeypatch.setattr(probe, "ALL_SECONDS", 1.5)
    await site.listening.start(site.address(1), desk.API, "silent")

    def lookup(_: str) -> list[str]:
        time.sleep(0.5)
        return [site.address(1)]

    name = probe.Name("API", HOST, desk.API)
    async with asyncio.timeout(GIVEN_UP_SECONDS):
        answer = await site.look(question({}, name), lookup=lookup)
    assert table(answer) == {("API", site.address(1)): "TimedOut"}
    # A name server that answers too late is left behind.
    monkeypatch.setattr(probe, "STEP_SECONDS", 0.1)
    assert table(await site.look(question({}, name), lookup=lookup)) == {("API", HOST): "Unresolved"}


@pytest.mark.parametrize("answer", [OSError(-2, "not known"), UnicodeError("label too long"), ["", "no address"]])
async def test_a_name_that_leads_nowhere_is_a_row(site: Site, answer: Any) -> None:
    def lookup(_: str) -> list[str]:
        if isinstance(answer, Exception):
            raise answer
        return list(answer)

    found = await site.look(question({}, probe.Name("API", HOST, desk.API)), lookup=lookup)
    assert table(found) == {("API", HOST): "Unresolved"}


# -- what follows


def seen(name: probe.Name, *addresses: str) -> probe.Seen:
    parsed = tuple(address for address in map(probe.parsed, addresses) if address is not None)
    return probe.Seen({name: parsed}, {name.place(one): probe.Reply("Ready", "ok") for one in parsed})


@pytest.mark.parametrize(
    ("addresses", "count"),
    [
        (["192.0.2.10"], 1),
        (["192.0.2.10", "2001:db8::10"], 1),
        (["::ffff:192.0.2.10", "2001:0DB8:0:0::0010"], 1),
        (["192.0.2.10", "192.0.2.11"], 0),
        (["192.0.2.100"], 0),
    ],
)
def test_a_name_is_on_one_node_when_every_address_is(addresses: list[str], count: int) -> None:
    name = probe.Name("API", HOST, desk.API)
    pairs = (("master-0", "192.0.2.10"), ("master-0", "2001:db8::10"), ("master-1", "192.0.2.11"))
    nodes = tuple((node, probe.parsed(text)) for node, text in pairs)
    answer = answered(probe.Question((name,), nodes, HOST), seen(name, *addresses))  # type: ignore[arg-type] # each is an address
    assert [item["name"] for item in answer["findings"]] == ["APINameOnOneNode"] * count
    assert ("resolves to node master-0 alone" in answer["checklist"][1]["message"]) == bool(count)


def test_the_answer_is_what_the_schema_says_and_nothing_moves_the_cursor() -> None:
    name = probe.Name("API", HOST, desk.API)
    nodes = (("master-0", probe.parsed("192.0.2.10")),)
    reply = probe.Reply("NotReady", "\x1b[2J" + "x" * 1000)
    reached = probe.Seen({name: nodes[0][1:]}, {(nodes[0][1], name.port, ""): reply})  # type: ignore[dict-item] # it is an address
    plan: Any = replies.planned(worlds.healthy())
    probe.add(plan, probe.Question((name,), nodes, HOST), reached, ["\x1b[31mred"])  # type: ignore[arg-type] # it is an address
    replies.conforms(plan)
    text = replies.printed(plan, 40)
    assert "\x1b" not in text
    assert "Asked from here" in text
    assert "Asked from here" not in replies.printed(replies.planned(worlds.healthy()))
    assert len(plan["probes"][0]["message"]) <= 300


async def test_an_authority_that_is_gone_is_said_and_nothing_is_asked() -> None:
    class Client:
        proxy = None

        async def get(self, *_: object, **__: object) -> dict[str, Any]:
            return INGRESS

        def anonymous_tls(self) -> None:
            raise FileNotFoundError(2, "No such file", "/ca.crt")

        request_timeout = 1.0

    connection = cluster.Connection(Client(), SERVER)  # type: ignore[arg-type] # what is used of it
    plan: Any = {"checklist": [simulate.item("LoadBalancer", ""), simulate.item("DNS", "")]}
    await probe.run(plan, connection, worlds.healthy())
    assert not plan["probes"]
    assert plan["probeNotes"][0].startswith("Nothing was asked: the authority of the kubeconfig cannot be used: ")
    words = [step["message"].removeprefix(". Seen from here: ") for step in plan["checklist"]]
    assert words == ["no address of a node could be asked", "no name could be asked"]
