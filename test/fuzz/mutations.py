"""Operators that are broken on purpose, in one place each, and the promises by which the machine must notice.

A promise that nobody can break proves nothing. Each mutation replaces one named function of the operator with a wrong
one, as a careless change might; if that function is renamed, the mutation fails and has to be written anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import math
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from unittest import mock

from topology_api.types import TopologyTransition
from topology_api.vocabulary import CheckName, CheckStatus, Phase
from topology_controller import act, reconcile
from topology_controller.checks import catalog, etcd, machine_config, nodes, operators, result
from topology_controller.decide import admission, applicability, cadence, convergence, phases, records
from topology_controller.kube import errors, reflector, watch
from topology_controller.observe import catalog as sources
from topology_controller.observe import facts, live, operands, watches
from topology_controller.report import clusteroperator

from .judge import Promise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True)
class Mutation:
    """A wrong operator.

    `broken` is what may be noticed first, depending on what happens to be drawn. `story` names the only rules of the
    machine that are drawn, where all of them together would need more examples than a test should take; `happening` is
    one of the stage's that is drawn as a rule of its own. `seed` is, of the first four, the one that leads there in the
    fewest examples.
    """

    name: str
    replaced: Callable[[], contextlib.AbstractContextManager[Any]]
    broken: tuple[Promise, ...]
    story: tuple[str, ...] = ()
    happening: str = ""
    seed: int = 1


_TRAPS = ("the_admission_meets_a_trap", "a_moment_passes", "it_goes_on")
_NEAR_MISSES = ("all_is_ready_but_one_thing", "a_moment_passes", "it_goes_on")
_FROZEN = ("an_operator_freezes", "frozen_operators_wake_up", "much_time_passes", "something_happens", "it_goes_on")
_CONVERGING = ("all_have_followed_but_one", "it_goes_on", "a_moment_passes")
_POOLS = ("a_pool_has_not_followed", "it_goes_on", "a_moment_passes")
_SLOWLY = ("a_follower_breaks", "somebody_follows", "it_goes_on", "much_time_passes")
_OTHERS = ("something_happens", "a_moment_passes", "it_goes_on", "desired")
_LATE_NEWS = ("the_last_read_shows_what_no_watch_does", "a_moment_passes", "it_goes_on")
_RESTORED = ("the_store_is_put_back_alone", "it_goes_on")
_ONWARD = ("it_goes_on", "a_moment_passes", "all_is_calm")


def _check(name: CheckName) -> Callable[[], contextlib.AbstractContextManager[Any]]:
    """A check that is always Met."""
    return lambda: mock.patch.dict(catalog.CHECKS, {name: lambda question: question.met("never mind")})


def _instead(owner: object, name: str, wrong: Any) -> Callable[[], contextlib.AbstractContextManager[Any]]:
    return lambda: mock.patch.object(owner, name, wrong)


def _nothing(*_: Any) -> None:
    """What is left out."""


def _around(
    owner: object, name: str, wrap: Callable[[Any], Any]
) -> Callable[[], contextlib.AbstractContextManager[Any]]:
    return lambda: mock.patch.object(owner, name, wrap(getattr(owner, name)))


async def _gather_nothing(_: Any, base: facts.Facts, *__: Any, **___: Any) -> live.Evidence:
    return live.Evidence(dataclasses.replace(base, live=True), asyncio.get_running_loop().time())


def _infrastructure_first(_: Any) -> Any:
    """Infrastructure is read before the rest: what was requested then need not be requested any more."""

    async def gather(client: Any, base: facts.Facts, chosen: Any, *_: Any, **__: Any) -> live.Evidence:
        first = await live.read(client, sources.Sources.infrastructure)
        taken = asyncio.get_running_loop().time()
        found = {source: await live.read(client, source) for source in chosen}
        return live.Evidence(sources.filled(base, found, infrastructure=first, live=True), taken)

    return gather


def _unguarded(write: Any) -> Any:
    async def wrong(self: act.Act, infrastructure: Any, record: Any, moved: Any, **options: Any) -> Any:
        if moved:
            infrastructure = dataclasses.replace(infrastructure, resource_version=None)
        return await write(self, infrastructure, record, moved, **options)

    return wrong


def _stubborn(write: Any) -> Any:
    """A conflict is answered by sending the same again with the newer version."""

    async def wrong(self: Any, infrastructure: Any, record: Any, moved: Any, **options: Any) -> Any:
        try:
            return await write(self, infrastructure, record, moved, **options)
        except errors.Conflict:
            raw = await self._client.get(sources.INFRASTRUCTURES, "cluster")
            newer = dataclasses.replace(infrastructure, resource_version=raw["metadata"]["resourceVersion"])
            return await write(self, newer, record, moved, **options)

    return wrong


def _by_keys(known: facts.Facts) -> Any:
    """Whatever key stands there is a member."""
    found = known.etcd_endpoints
    return found if isinstance(found, facts.Unobserved) else dict(found)


def _one_node_less(question: result.CheckContext) -> result.CheckResult:
    fewer = question.spec.model_copy(update={"at_least": (question.spec.at_least or 1) - 1})
    return nodes.control_plane(dataclasses.replace(question, spec=fewer))


def _known_as(change: Callable[[facts.Facts], facts.Facts]) -> Callable[[Any], Any]:
    """Decide from facts that were changed before."""
    return lambda decide: lambda known, *others: decide(change(known), *others)


def _never_disturbed(known: Any) -> Any:
    return lambda self: dataclasses.replace(known(self), disturbed=())


def _request_remembered(known: facts.Facts) -> facts.Facts:
    """What was admitted is done, whatever is requested meanwhile."""
    found = known.infrastructure
    if isinstance(found, facts.Unobserved) or not isinstance(found.record, TopologyTransition):
        return known
    target = found.record.target
    if found.record.phase is not Phase.ADMITTING or target is None:
        return known
    return dataclasses.replace(known, infrastructure=dataclasses.replace(found, desired=target.control_plane))


def _without(**changes: Any) -> Callable[[Any], Any]:
    """Decisions with something left out."""
    return lambda decide: lambda *args: dataclasses.replace(decide(*args), **changes)


def _hosted_is_ours(disabled: Any) -> Any:
    def wrong(known: facts.Facts, infrastructure: facts.Infrastructure) -> Any:
        return None if infrastructure.control_plane == "External" else disabled(known, infrastructure)

    return wrong


def _always_now(entered: Any) -> Any:
    return lambda context, phase, **fields: entered(
        context, phase, **fields, phase_transition_time=context.now.replace(microsecond=0)
    )


async def _ask_nobody(_: act.Act) -> None:
    """Neither who else guards a write nor the lease."""


def _forgetful(infrastructure: facts.Infrastructure, *_: object) -> Any:
    return infrastructure.record if isinstance(infrastructure.record, TopologyTransition) else None


def _asking_observed(watched: Any) -> Any:
    """A ControllerConfig that is just being rendered again is for no topology."""

    def reduce(raw: Any) -> facts.ControllerConfig:
        config = operands.controller_config(raw)
        observed = raw["status"]["observedGeneration"] == raw["metadata"]["generation"]
        return config if observed else dataclasses.replace(config, control_plane=None)

    return lambda *args: tuple(
        dataclasses.replace(source, reduce=reduce) if source is sources.Sources.controller_config else source
        for source in watched(*args)
    )


def _only_master(before: Any) -> Any:
    return lambda pool, left: before(pool, left if pool.name == machine_config.MASTER else None)


@contextlib.contextmanager
def _unknown_is_met() -> Iterator[None]:
    lenient = property(lambda self: self.status is not CheckStatus.UNMET)
    with mock.patch.object(result.CheckResult, "met", lenient):
        yield


def _gone_waits(failed: Any) -> Any:
    def wrong(self: watch._State, error: errors.KubeError) -> Any:
        how = failed(self, error)
        return watch.Disturbed(error, 45.0) if isinstance(error, errors.Gone) else how

    return wrong


@contextlib.contextmanager
def _own_writes_win() -> Iterator[None]:
    """What we wrote outweighs every list, and a store that was put back is none."""
    apply = reflector.Reflector.apply

    def wrong(self: reflector.Reflector[Any], raw: Any) -> None:
        apply(self, raw)
        self._own = dict.fromkeys(self._own, math.inf)

    with mock.patch.object(reflector.Reflector, "apply", wrong), mock.patch.object(watches.Watches, "put_back"):
        yield


MUTATIONS = (
    Mutation("the evidence is not read live", _instead(live, "gather", _gather_nothing), (Promise.FRESH,)),
    Mutation("Infrastructure is read first", _around(live, "gather", _infrastructure_first), (Promise.FRESH,)),
    Mutation(
        "the attempt is not compared",
        _instead(admission, "_is_ours", lambda *_: True),
        (Promise.ONLY_FROM_ADMITTING,),
        _TRAPS,
        seed=2,
    ),
    Mutation(
        "the echo is not awaited",
        _instead(
            operators,
            "upgrades_blocked",
            lambda *_: result.CheckResult(CheckName.UPGRADES_BLOCKED, CheckStatus.MET, "never mind"),
        ),
        (Promise.ECHOED,),
        _ONWARD,
        "the echo stops",
    ),
    Mutation("the change carries no version", _around(act.Act, "_write", _unguarded), (Promise.FRESH,)),
    Mutation(
        "a conflict is overridden",
        _around(act.Act, "_write", _stubborn),
        (Promise.FRESH, Promise.PROVEN, Promise.REQUESTED, Promise.ONLY_FROM_ADMITTING, Promise.EXTERNAL),
        _TRAPS,
    ),
    Mutation(
        "the age of evidence does not matter",
        _instead(act, "EVIDENCE_SECONDS", 1e9),
        (Promise.FRESH, Promise.PROVEN),
        _TRAPS,
        seed=2,
    ),
    Mutation("the lease is not asked", _instead(act.Act, "_hold", _ask_nobody), (Promise.LEASED,), _FROZEN, seed=2),
    Mutation("Unknown counts as Met", _unknown_is_met, (Promise.PROVEN, Promise.CONVERGED), seed=2),
    Mutation(
        "voters are counted by keys",
        _instead(etcd, "members", _by_keys),
        (Promise.PROVEN, Promise.CONVERGED),
        _NEAR_MISSES,
        seed=3,
    ),
    Mutation(
        "one control-plane node less will do",
        lambda: mock.patch.dict(catalog.CHECKS, {CheckName.CONTROL_PLANE_NODES: _one_node_less}),
        (Promise.PROVEN, Promise.CONVERGED),
        _NEAR_MISSES,
        seed=2,
    ),
    Mutation("an upgrade does not matter", _check(CheckName.NO_UPGRADE_IN_PROGRESS), (Promise.PROVEN,), _NEAR_MISSES),
    Mutation("nobody asks for routers", _check(CheckName.ROUTER_REPLICAS), (Promise.CONVERGED,), _CONVERGING),
    Mutation(
        "it need not be quiet", _instead(convergence, "_quiet_at", lambda scene, *_: scene.now), (Promise.CONVERGED,)
    ),
    Mutation(
        "the configuration before the change does not matter",
        _instead(machine_config, "_must_change", lambda *_: False),
        (Promise.CONVERGED,),
        _POOLS,
    ),
    Mutation(
        "watches in trouble are believed",
        _around(watches.Watches, "known", _never_disturbed),
        (Promise.CONVERGED,),
        ("quiet_is_disturbed", "it_goes_on", "a_moment_passes"),
    ),
    Mutation(
        "what was admitted is done",
        _around(phases, "decide", _known_as(_request_remembered)),
        (Promise.REQUESTED, Promise.CANCELLED),
        (*_TRAPS, "desired"),
        seed=2,
    ),
    Mutation(
        "upgrades are let go while converging",
        _around(convergence, "converging", _without(upgrade_block=None)),
        (Promise.HELD_BACK,),
    ),
    Mutation(
        "the copy of a lost record is forgotten",
        _instead(records, "recover", _forgetful),
        (Promise.REMEMBERED, Promise.HELD_BACK),
        ("the_record_is_lost", "it_goes_on", "a_moment_passes"),
    ),
    Mutation(
        "the native controller is not looked for",
        _instead(applicability, "native_in_charge", lambda _: False),
        (Promise.STOOD_DOWN,),
        ("all_is_ready_where_the_native_controller_is", "it_goes_on", "a_moment_passes"),
    ),
    Mutation(
        "what the native controller cannot end is nobody's",
        _instead(applicability, "abandoned", lambda _: []),
        (Promise.FOLLOWED,),
        ("the_native_controller_has_changed_it_and_goes", "it_goes_on", "a_moment_passes"),
    ),
    Mutation(
        "what the native controller has left behind is followed again",
        _instead(applicability, "_completed_since", lambda _: False),
        (Promise.THEIRS,),
        ("the_native_controller_has_changed_it_and_goes", "it_goes_on_and_time_passes", "a_moment_passes"),
        seed=4,
    ),
    Mutation(
        "a pause is not heard",
        _instead(admission, "_held", lambda *_: ""),
        (Promise.STOOD_DOWN,),
        _ONWARD,
        "it is paused",
    ),
    Mutation(
        "hosted clusters are ours",
        _around(applicability, "disabled", _hosted_is_ours),
        (Promise.EXTERNAL,),
        _ONWARD,
        "the control plane is hosted",
    ),
    Mutation("every look is reported", _instead(clusteroperator, "differs", lambda *_: True), (Promise.CALM,)),
    Mutation(
        "a phase begins anew with every look", _around(records, "entered", _always_now), (Promise.CALM, Promise.ARRIVES)
    ),
    Mutation(
        "machine configs that are rendered again count as not observed",
        _around(sources, "watched", _asking_observed),
        (Promise.ARRIVES,),
    ),
    Mutation(
        "the record is written at every change of an answer",
        _instead(cadence, "bounds", lambda *_: (timedelta(), timedelta())),
        (Promise.PACED,),
        _CONVERGING,
    ),
    Mutation(
        "only pool master has to roll out",
        _around(machine_config, "_waiting_for", _only_master),
        (Promise.CONVERGED,),
        _POOLS,
    ),
    Mutation(
        "upgrades are let go while the definition of our fields is missing",
        _around(phases, "_not_installed", _without(upgrade_block=None)),
        (Promise.HELD_BACK,),
        _ONWARD,
        "the definition of our fields is lost",
    ),
    Mutation(
        "a phase is written when there is time for it",
        _instead(cadence, "_body", lambda _: {}),
        (Promise.AT_ONCE, Promise.CANCELLED),
        _OTHERS,
    ),
    Mutation(
        "what the last reads show is forgotten",
        _instead(reconcile.Reconciler, "_decide_live", lambda self, evidence, _: self._decide(evidence.facts)),
        (Promise.STEADY, Promise.CALM),
        _LATE_NEWS,
        seed=2,
    ),
    Mutation(
        "stuck is whatever is overdue",
        _instead(convergence, "_patience", lambda _: timedelta()),
        (Promise.STUCK,),
        _SLOWLY,
        seed=4,
    ),
    Mutation(
        "a silent watch from the future is believed",
        lambda: mock.patch.multiple(watch._State, reached=_nothing, forget_one=_nothing),
        (Promise.RESTORED, Promise.HELD_BACK),
        _RESTORED,
    ),
    Mutation("what we wrote outweighs what was restored", _own_writes_win, (Promise.RESTORED,), _RESTORED, seed=4),
    Mutation(
        "a version that is gone waits", _around(watch._State, "failed", _gone_waits), (Promise.RESTORED,), _RESTORED
    ),
    Mutation(
        "machines take no time",
        _around(convergence, "minutes", lambda real: lambda definition, _: real(definition, facts.Facts())),
        (Promise.STUCK,),
        _OTHERS,
    ),
)
LONG = (
    "what-the-native-controller-has-left-behind-is-followed-again", "a-version-that-is-gone-waits",
    "what-the-last-reads-show-is-forgotten", "what-was-admitted-is-done", "the-age-of-evidence-does-not-matter",
    "stuck-is-whatever-is-overdue", "one-control-plane-node-less-will-do", "voters-are-counted-by-keys",
    "what-we-wrote-outweighs-what-was-restored", "the-attempt-is-not-compared", "an-upgrade-does-not-matter",
    "upgrades-are-let-go-while-the-definition-of-our-fields-is-missing",
)  # fmt: skip
"""Hunts of more than ten seconds, for the night: each of these faults fails unit tests of its own by day."""
