"""Using the page: keyboard, copying, light and dark, text that wants to be markup, and what it says when it cannot.

Here the page is served from facts that a test makes, so that anything can be shown at once.
"""

from __future__ import annotations

import dataclasses
import functools
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from selenium.webdriver.common import keys

from test.observability.page import browser as browsers
from test.unit.core import page_state, worlds
from topology_controller.observe import facts

if TYPE_CHECKING:
    from test.unit.serving import pages

MARKUP = "<script>window.broken=1</script><img src=x onerror='window.broken=2'><b>bold</b>"
_FOCUSED = """
const one = document.activeElement, style = getComputedStyle(one);
if (one === document.body) return null;
const said = one.getAttribute("aria-label") || one.innerText || "";
return {what: (one.id || one.tagName.toLowerCase()) + ": " + said.trim(),
        outline: style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth),
        seen: one.getBoundingClientRect().bottom > 0};
"""


def pending(**changes: Any) -> facts.Facts:
    """A node is cordoned, and the machine config that the installer left is there, of which an advisory tells."""
    nodes = (worlds.node(0), worlds.node(1), worlds.node(2, cordoned=True))
    return dataclasses.replace(worlds.healthy(datetime.now(UTC), control_plane_nodes=nodes, dnsmasq=True), **changes)


async def shown(house: pages.House, browser: browsers.Browser, known: facts.Facts, word: str) -> None:
    house.pin(known, datetime.now(UTC))
    await browser.open(house.url)
    await browser.phase(word)


async def test_news_changes_the_page_and_leaves_the_reader_alone(house, browser):
    await shown(house, browser, pending(), "Pending")
    await browser.run("window.loaded = 'once'; document.querySelector('#cancel button').focus()")
    await browser.run("document.getElementById('met').open = true")
    house.pin(pending(scheduler=False), datetime.now(UTC))
    await browser.says("#checks-open", "ControlPlaneNodes", "MastersSchedulable")
    await browser.says("#announce", "MastersSchedulable is Unmet. 9 of 11 checks met")
    assert await browser.run("return window.loaded") == "once"
    assert await browser.run("return document.getElementById('met').open"), "what was opened stays open"
    assert await browser.run("return document.activeElement.textContent") == "Copy", "the focus stays where it was"


async def test_progress_is_told_to_those_who_do_not_see_it(house, browser):
    known = worlds.moved(worlds.healthy(), worlds.converging())
    house.pin(known)
    await browser.open(house.url)
    await browser.phase("Converging")
    bar = "document.querySelector('[data-key$=\"openshift-console/console\"] [role=progressbar]')"
    assert await browser.run(f"return {bar}.getAttribute('aria-valuetext')") == "1 of 2 replicas, Unmet"
    assert await browser.run(f"return {bar}.querySelectorAll('.on').length + '/' + {bar}.children.length") == "1/2"
    whole = "document.getElementById('overall-bar').getAttribute('aria-valuetext')"
    assert (await browser.run(f"return {whole}")).endswith(" of 20 checks met")
    step = await browser.run("return document.querySelector('[aria-current=step]').textContent")
    assert step == "Converging (now)"
    house.pin(known, worlds.DEADLINE + timedelta(minutes=1))
    await browser.phase("Stuck")
    await browser.says("#phases", "Converging, stuck (now)")
    await browser.says("#announce", "Phase Stuck")


_TOPS = """
return arguments[0].map((id) => {
  const box = document.getElementById(id).getBoundingClientRect();
  return box.height ? box.top : null;
});
"""


async def test_on_a_phone_danger_comes_first_then_what_to_do(house, browser):
    known = worlds.moved(worlds.healthy(), worlds.converging())
    known = dataclasses.replace(known, ingress_controller=facts.IngressController(1, 1))
    house.pin(known, worlds.DEADLINE)
    await browser.wear(width=375)
    await browser.open(house.url)
    await browser.phase("Stuck")
    order = ["problem", "assess", "advisories-card", "checks-card", "operands-card", "later-card", "facts", "nodes"]
    tops = await browser.run(_TOPS, [*order[:-1], "nodes-fold"])
    assert None not in tops, dict(zip(order, tops, strict=True))
    assert tops == sorted(tops), dict(zip(order, tops, strict=True))
    first = "return document.querySelector('#advisories li').innerText"
    assert (await browser.run(first)).startswith("RouterReplicasPinned"), "the one that a check waits for"
    label = "return document.querySelector('#problem button').getAttribute('aria-label')"
    assert await browser.run(label) == "Copy the command that repairs this"
    assert (await browser.text("#problem-do code")).startswith("oc -n openshift-ingress-operator patch"), (
        "not to explain"
    )
    closed = "return [...document.querySelectorAll('main details')].map((one) => one.open)"
    assert set(await browser.run(closed)) == {False}, "what is met or can wait is folded away"
    rows = "return [...document.querySelectorAll('#checks-open tr')].map((one) => one.innerText.split(/\\s+/))"
    assert ["1/2", "ConsoleReplicas", "console"] in [[*row[:1], *row[-2:]] for row in await browser.run(rows)]


@pytest.mark.parametrize("base", ["", "https://docs.example/runbooks", "javascript:alert(1)//"])
async def test_a_problem_leads_to_its_runbook_or_to_the_command_that_explains_it(house, browser, base):
    house.page.about = functools.partial(page_state.about, runbooks=base)
    house.pin(worlds.moved(worlds.healthy(), worlds.converging()), worlds.DEADLINE)
    await browser.open(house.url)
    await browser.phase("Stuck")
    await browser.says("#problem", "Stuck since ", "nothing progresses")
    link = await browser.run("return document.querySelector('#problem-runbook a').getAttribute('href')")
    hidden = "return ['runbook', 'do'].map((one) => document.getElementById('problem-' + one).hidden)"
    if base.startswith("https"):
        assert (link, await browser.run(hidden)) == (f"{base}/TopologyTransitionStuck.md", [False, True])
    else:
        assert (link, await browser.run(hidden)) == (None, [True, False])
        assert await browser.text("#problem-do code") == "oc topology explain Stuck"


async def test_text_from_the_cluster_is_text(house, browser):
    node = worlds.node(0, name=MARKUP, cordoned=True)
    found = worlds.conditions(EtcdMembersAvailable=MARKUP, EtcdMembersDegraded="False", EtcdMembersProgressing="False")
    known = worlds.healthy(control_plane_nodes=(node,), etcd=facts.Etcd(found))
    known = worlds.with_infrastructure(known, cluster_name=MARKUP)
    await shown(house, browser, known, "Pending")
    for selector in ("#nodes", "#checks-open", "#cluster"):
        await browser.says(selector, MARKUP)
    assert await browser.run("return window.broken") is None
    inside = "document.querySelectorAll('main script, main img, main b:not(.condition b, .timeline b)').length"
    assert await browser.run(f"return {inside}") == 0
    assert await browser.complaints() == []


async def test_commands_are_copied_and_that_is_said(house, browser):
    await browser.command("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    await shown(house, browser, pending(), "Pending")
    await browser.click("#later-card summary")
    command = await browser.text("#later code")
    assert command == "oc delete machineconfig 50-master-dnsmasq-configuration"
    for refuse in ("", "navigator.clipboard.writeText = () => Promise.reject(new Error('no')); "):
        await browser.run(f"{refuse}document.getElementById('announce').textContent = ''")
        await browser.click("#later button")
        await browser.says("#announce", "The command was copied")
        assert await browser.text("#later button") == "Copied"
        assert await browser.later("navigator.clipboard.readText().then(arguments[0], arguments[0])") == command
        await browser.later("navigator.clipboard.write([]).then(arguments[0], arguments[0])")
        await browser.says("#later button", "Copy")


async def test_everything_can_be_reached_by_keyboard_and_one_sees_where_one_is(house, browser):
    await shown(house, browser, pending(), "Pending")
    reached: list[str] = []
    for _ in range(12):
        await browser.press(keys.Keys.TAB)
        found = await browser.run(_FOCUSED)
        if found is None or (reached and found["what"] == reached[0]):
            break
        assert found["outline"] >= 2, f"nothing shows that the focus is on {found}"
        assert found["seen"], found
        reached.append(found["what"])
    wanted = (
        "a: Skip to the status",
        "met-title: 10 met",
        "button: Copy the command that cancels the request",
        "summary: Recommended 1 action",
        "nodes-fold-title: 2 eligible",
        "etcd-fold-title: All 3 voters, each on a control-plane node",
        "summary: ClusterOperator topology",
        "a: This as JSON",
        "theme: Theme: auto",
    )
    assert tuple(reached) == wanted


@pytest.mark.parametrize("name", ["learner", "unsupported", "standby", "unreadable", "nothing known"])
async def test_states_that_are_rare_can_be_read_too(house, browser, name):
    if name == "learner":
        ids = sorted(zip(worlds.MEMBERS, worlds.NAMES, strict=True))
        listed = tuple(facts.EtcdMember(id_, one, learner=id_ == ids[2][0]) for id_, one in ids)
        house.pin(pending(etcd_members=facts.EtcdMembers(worlds.voices(members=listed))))
        word, selector, text = "Pending", "#etcd", "Learner"
    elif name == "unsupported":
        house.pin(worlds.with_infrastructure(worlds.healthy(), desired="DualReplica"))
        word, selector, text = "Unsupported", "#headline", "No transition leads from"
    elif name == "standby":
        house.watches.facts = worlds.moved(worlds.healthy(), worlds.converging())
        word, selector, text = "Converging", "#standby", "This process does not lead"
    elif name == "unreadable":
        house.pin(pending(cluster_operators=worlds.BROKEN, etcd_endpoints=worlds.BROKEN, disturbed=("nodes",)))
        word, selector, text = "Pending", "#disturbed", "nodes"
    else:
        house.watches.facts = facts.Facts()
        word, selector, text = "Idle", "#conditions-said", "no conditions yet"
    await browser.open(house.url)
    await browser.phase(word)
    await browser.says(selector, text)
    await browsers.assert_readable(browser, name)
