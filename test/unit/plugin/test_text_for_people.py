"""Text fits the terminal, obeys nobody, and can be typed again: programs are named as this person has called them.

`-o json` is what docs/schemas says: no field more, none less, whatever the cluster.
"""

import copy
import dataclasses
import io
import itertools
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import assume, given

from kubectl_topology import cluster, document, errors, naming
from kubectl_topology.commands import cancel, status
from topology_api import crd
from topology_api.vocabulary import Phase
from topology_controller.observe import facts

from ..core import clusters, worlds
from ..core.strategies import worlds_of_any_kind
from ..outside import stories
from . import replies

OC, KUBECTL = naming.Caller(), naming.Caller("kubectl topology", "kubectl")
PATCH = """oc -n openshift-ingress-operator patch ingresscontroller default --type merge -p '{"spec":{"replicas":2}}'"""
BLOCKED = worlds.healthy(scheduler=False)


def test_colour_only_repeats_what_a_word_says() -> None:
    found = replies.planned(BLOCKED)
    coloured = replies.printed(found, colour=True)
    assert "\x1b[31mUnmet\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9]*m", "", coloured) == replies.printed(found)


@pytest.mark.parametrize(
    ("stream", "environ", "width", "colour"),
    [
        pytest.param(io.StringIO(), {}, 0, False, id="pipe"),
        pytest.param(io.StringIO(), {"COLUMNS": "90"}, 90, False, id="pipe-with-columns"),
        pytest.param(replies.Terminal(), {"COLUMNS": "90"}, 90, True, id="terminal"),
        pytest.param(replies.Terminal(), {"COLUMNS": "90", "NO_COLOR": "1"}, 90, False, id="no-colour"),
        pytest.param(replies.Terminal(), {"TERM": "dumb"}, 0, False, id="dumb"),
        pytest.param(replies.Terminal(), {"COLUMNS": "7"}, 24, True, id="hardly-any-width"),
        pytest.param(replies.Terminal(), {"COLUMNS": "many"}, 0, True, id="nonsense"),
    ],
)
def test_a_document_suits_its_stream(stream: io.StringIO, environ: dict[str, str], width: int, *, colour: bool) -> None:
    made = document.Document.for_stream(stream, environ)
    assert (made.width, made.colour) == (width, colour)


# The screen


class Screens(stories.Story):
    """A story that keeps the cluster as it is where the page is looked at."""

    def __init__(self, name: str) -> None:
        super().__init__(name, stories.TOLD[name][1])
        self.looks: list[tuple[Any, Any]] = []

    def _look(self) -> None:
        there = clusters.Cluster()
        there.objects = copy.deepcopy(self.cluster.objects)
        there.put(("customresourcedefinitions", None, "infrastructures.config.openshift.io"), crd.infrastructure(()))
        self.looks.append((there, clusters.virtual_now()))

    async def answers(self) -> AsyncIterator[dict[str, Any]]:
        """What `status` answers at each look."""
        await self.play()
        for there, now in self.looks:
            made = cluster.Connection(there, "https://api.example:6443")
            read = await cluster.present(made, worlds.TRANSITIONS)
            lease = dataclasses.replace(replies.LEASE, renew_time=now)
            known = dataclasses.replace(read, now=now, operator=lease)
            yield replies.through_json(status.answer(known, worlds.TRANSITIONS))


@pytest.mark.looptime
@pytest.mark.parametrize(("name", "most"), [("happy", 24), ("stuck", 36)])
async def test_status_of_a_recorded_story_fits_a_screen_and_names_what_is_missing_once(name: str, most: int) -> None:
    async for answer in Screens(name).answers():
        text = replies.printed(answer, 100)
        missing = [item["name"] for item in answer["operands"]["items"] if item["status"] != "Met"]
        # The topology may have changed a second ago: then everything is missing in the happy story, too.
        assert len(text.splitlines()) <= (36 if missing else most), text
        assert max(map(len, text.splitlines())) <= 100
        assert "..." not in [line.strip() for line in replies.printed(answer, 80).splitlines()]
        assert [text.split().count(name.rpartition("/")[2]) for name in missing] == [1] * len(missing)
        for check in answer["checks"]:
            assert (check["name"] in text) is (check["status"] != "Met")
        assert [text.count(advisory["name"]) for advisory in answer["advisories"]] == [1] * len(answer["advisories"])
        whole = "".join(replies.printed(answer, 100, wide=True).split())
        for item in (*answer["advisories"], *(check for check in answer["checks"] if check["status"] != "Met")):
            assert "".join(f"{item['message']}{item.get('command', '')}".split()) in whole


def test_the_command_that_a_check_waits_for_is_shown_and_what_may_wait_is_a_line() -> None:
    names = ("RouterReplicasPinned", "DnsmasqConfigurationLeft", "EtcdBackupOutdated")
    advisories = [{"name": name, "message": f"{name} is so. More", "command": f"oc get {name}"} for name in names]
    answer = {**replies.told(replies.in_phase(Phase.CONVERGING)), "advisories": advisories, "required": names[:2]}
    text = replies.printed(answer, 100)
    assert [text.count(f"oc get {name}") for name in names] == [1, 1, 0]
    assert [text.count(f"{name} is so\n") for name in names] == [1, 1, 1]


def test_cells_stay_in_their_columns_where_the_last_one_stands_below_them() -> None:
    made = document.Document(60)
    rows = [("0/3", "EtcdScalingSafe", "x" * 40), ("Unknown", "EtcdVotingMembers", "short")]
    made.add("", [document.Row(cells, lines=4) for cells in rows])
    below, _, other = made.text().splitlines()
    assert below.index("EtcdScalingSafe") == other.index("EtcdVotingMembers"), made.text()


# As data


@given(known=worlds_of_any_kind())
def test_any_cluster_conforms_and_can_be_printed_at_any_width(known: facts.Facts) -> None:
    assume(isinstance(known.infrastructure, facts.Infrastructure))
    found = [replies.told(known), replies.overview(known), replies.audited(known)]
    try:
        found.append(replies.planned(known))
        cancelled, _ = cancel.judged(replies.seen(known), worlds.TRANSITIONS, "oc")
        # What could be cancelled is not an answer: it is cancelled.
        found.append({**cancelled, "result": cancelled["result"].replace("WouldWrite", "Written")})
    except errors.PluginError:
        assert isinstance(known.installed, facts.Installed)
    assert found[0]["assessment"] in replies.printed(found[0], wide=True).splitlines()
    for one in found:
        replies.conforms(one)
        for width, wide in itertools.product((0, 40, 80, 120), (False, True)):
            too_long = [line for line in replies.printed(one, width, wide=wide).splitlines() if len(line) > width > 40]
            broken = [line for line in too_long if "oc " not in line and max(map(len, line.split())) < width // 3]
            assert not broken, "\n".join(broken)
    lines = replies.printed(found[0], 100).splitlines()
    assert all(len(line) <= 100 or "oc " in line or len(line.split()) == 1 for line in lines), lines


@pytest.mark.parametrize(
    ("field", "value"), [("kind", "TopologyPlan"), ("phase", "Done"), ("stuck", None), ("machines", [{}]), ("x", 1)]
)
def test_a_schema_refuses_other_words_types_and_fields(field: str, value: object) -> None:
    answer = replies.told(replies.in_phase(Phase.CONVERGING))
    replies.conforms(answer)
    assert not replies.VALID["TopologyStatus"].is_valid({**answer, field: value})
    for lacking in answer:
        assert not replies.VALID["TopologyStatus"].is_valid({name: answer[name] for name in answer if name != lacking})


def test_each_schema_is_one() -> None:
    for validator in replies.VALID.values():
        validator.check_schema(validator.schema)


# Names


@pytest.mark.parametrize(
    ("typed", "parent", "has_oc", "caller"),
    [
        pytest.param("/usr/bin/oc", "bash", False, OC, id="oc-has-become-this-process"),
        pytest.param("/usr/bin/kubectl", "bash", False, KUBECTL, id="kubectl-has"),
        pytest.param("/usr/local/bin/kubectl-1.32.4", "zsh", False, KUBECTL, id="kubectl-with-a-version"),
        pytest.param("/usr/bin/kubectl", "bash", True, naming.Caller("kubectl topology", "oc"), id="oc-is-there-too"),
        pytest.param("", "kubectl", False, KUBECTL, id="kubectl-is-the-parent"),
        pytest.param(
            "/home/me/bin/kubectl-topology", "bash", False, naming.Caller("kubectl-topology", "kubectl"), id="itself"
        ),
        pytest.param("/usr/bin/make", "make", True, naming.Caller("kubectl-topology", "oc"), id="from-something-else"),
    ],
)
def test_names_follow_from_what_was_typed(typed: str, parent: str, has_oc: bool, caller: naming.Caller) -> None:  # noqa: FBT001 - a row of the table
    found = naming.fitting({"_": typed}, parent, lambda name: f"/usr/bin/{name}" if has_oc else None)
    assert found == caller


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("see oc topology status", "see kubectl topology status"),
        (PATCH, "kubectl" + PATCH.removeprefix("oc")),
        # Only oc can do the first half, so the second half stays with it.
        (
            "oc debug node/a -- true && oc annotate co topology x-",
            "oc debug node/a -- true && oc annotate co topology x-",
        ),
        ("the path /usr/bin/oc get, and dioc get", "the path /usr/bin/oc get, and dioc get"),
    ],
)
def test_commands_are_those_of_the_client_that_is_there(text: str, spoken: str) -> None:
    assert KUBECTL.spoken(text) == spoken
    assert OC.spoken(text) == text


def test_a_role_is_granted_by_the_client_that_is_there() -> None:
    assert OC.grant("cluster-reader", "joe") == "oc adm policy add-cluster-role-to-user cluster-reader joe"
    binding = "kubectl create clusterrolebinding cluster-reader-joe --clusterrole=cluster-reader --user=joe"
    assert KUBECTL.grant("cluster-reader", "joe") == binding
