"""etcd: are there enough voters, are they healthy, is who says so alive, and what do the members themselves say?

With HighlyAvailable the etcd operator scales only with a healthy quorum, so a topology that changes before there are
three voters can never get one (cluster-etcd-operator pkg/operator/ceohelpers/bootstrap.go). Most checks go by what that
operator says; `members_direct` asks the members, where the administrator has given certificates for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from topology_api.vocabulary import CheckStatus

from ..observe import facts, fields
from . import machines, result
from .result import CheckContext, CheckResult, Count, need

ENDPOINTS = "configmaps/etcd-endpoints in namespace openshift-etcd"
_LOOK = "oc -n openshift-etcd get configmap etcd-endpoints -o yaml"
_PODS = "the etcd pods in namespace openshift-etcd"
_MEMBER_ID = re.compile(r"[1-9a-f][0-9a-f]{0,15}\Z")
_HEALTH = {"EtcdMembersAvailable": "True", "EtcdMembersDegraded": "False", "EtcdMembersProgressing": "False"}
_LEASE = "leases.coordination.k8s.io/openshift-cluster-etcd-operator-lock in namespace openshift-etcd-operator"
_LONGEST = 160


@facts.once
def members(known: facts.Facts) -> dict[str, str] | facts.Unobserved:
    """Voters by member id with their address, or why they are not known."""
    # The etcd operator keys the ConfigMap by hexadecimal member id. When it could not list members it writes every
    # control-plane node keyed by node name instead, which looks like three voters; so a key that equals a node name is
    # tested first (`cafe` is both), and neither that nor any other key proves anything. Source: cluster-etcd-operator
    # pkg/operator/etcdendpointscontroller/etcdendpointscontroller.go (release-4.22; by node name since release-4.21).
    endpoints = known.etcd_endpoints
    if isinstance(endpoints, facts.Unobserved):
        return endpoints
    # The name of a node that cannot be read may be one of the keys.
    nodes = result.every_node(known)
    if isinstance(nodes, facts.Unobserved):
        return nodes
    names = {node.name for node in nodes}
    voters: dict[str, str] = {}
    for key, value in endpoints:
        if key in names:
            why = f"key {key} is a node name: the etcd operator could not list the members"
            return facts.Unobserved(ENDPOINTS, why)
        if not _MEMBER_ID.match(key):
            return facts.Unobserved(ENDPOINTS, f"key {key} is not a member id")
        address = fields.address(value)
        if address is None:
            return facts.Unobserved(ENDPOINTS, f"member {key} has no IP address")
        voters[key] = address
    return voters


@facts.once
def listed(known: facts.Facts) -> tuple[facts.EtcdMember, ...] | None:
    """Members by etcd's own list, which came through the quorum; None without one, or with two that differ."""
    survey = known.etcd_members
    voices = () if isinstance(survey, facts.Unobserved) else survey.voices
    lists = {frozenset(voice.members): voice.members for voice in voices if voice.confirmed}
    return next(iter(lists.values())) if len(lists) == 1 else None


@facts.once
def voters(known: facts.Facts) -> int | None:
    """How many vote, by what the etcd operator publishes, else by etcd's own list; None where neither is known."""
    published, own = members(known), listed(known)
    if not isinstance(published, facts.Unobserved):
        return len(published)
    return None if own is None else sum(not member.learner for member in own)


def voting_members(context: CheckContext) -> CheckResult:
    """At least N voters, each at an address of a control-plane node of its own, and none elsewhere."""
    # Voters are known where every node could be read.
    voters, nodes = need(members(context.facts)), facts.readable(context.facts.control_plane_nodes)
    homes = {address: node.name for node in nodes for address in node.addresses}
    housed = sorted({homes[address] for address in voters.values() if address in homes})
    strangers = sorted(f"{key} at {address}" for key, address in voters.items() if address not in homes)
    wanted = context.spec.at_least or 0
    aim = f"{wanted} etcd voters, each on a control-plane node"
    if strangers:
        text = f"{result.few(strangers)} is no address of a control-plane node"
        return context.unmet(aim, text, f"Look at {_LOOK}")
    if len(housed) < wanted:
        reasons = machines.left_out(context.facts)
        ignored = "".join(
            f"; {node.name} is not home of an etcd voter: {reasons[node.name]}"
            for node in nodes
            if node.name in reasons and node.name not in housed
        )
        seen = f"{len(housed)}: {result.few(housed) or 'none'}{ignored}"
        return context.unmet(aim, seen, f"Look at {_LOOK}", count=Count(len(housed), wanted, "voters"))
    return context.met(f"{len(housed)} etcd voters, on {result.listed(housed)}")


def healthy(context: CheckContext) -> CheckResult:
    """The etcd operator reports members available, none degraded, none unstarted; all three conditions present."""
    # Source: cluster-etcd-operator pkg/operator/etcdmemberscontroller/etcdmemberscontroller.go (release-4.20 to 4.22).
    conditions = need(context.facts.etcd).conditions
    statuses = {type_: conditions.status(type_) for type_ in _HEALTH}
    if statuses == _HEALTH:
        return context.met("All etcd members are started and healthy")
    wrong = [f"{type_}={status}" for type_, status in statuses.items() if status != _HEALTH[type_]]
    text = f"etcds.operator.openshift.io/cluster has {', '.join(wrong)}"
    if not set(statuses.values()) <= {"True", "False"}:
        return context.unknown(text)
    return context.unmet(", ".join(f"{type_}={status}" for type_, status in _HEALTH.items()), text)


def scaling_safe(context: CheckContext) -> CheckResult:
    """No override lets roll-outs, certificates or the removal of a member go without waiting for a quorum."""
    # Source: cluster-etcd-operator pkg/operator/ceohelpers/bootstrap.go (main). No operator removes it.
    if not need(need(context.facts.etcd).unsafe_scaling):
        return context.met("The etcd operator waits for a quorum")
    seen = "etcds.operator.openshift.io/cluster has an override against that"
    remove = result.worded("RemoveUnsafeScaling", key=facts.UNSAFE_SCALING)
    return context.unmet("an etcd operator that waits for a quorum", seen, remove)


def operator_alive(context: CheckContext) -> CheckResult:
    """The etcd operator renews its lease (cluster-etcd-operator pkg/cmd/operator/cmd.go): conditions outlive it."""
    lease = need(context.facts.etcd_lease)
    aim = "an etcd operator that renews its lease"
    if not lease.holder:
        return context.unmet(aim, f"{_LEASE} has no holder")
    if lease.renew_time is None or lease.duration_seconds is None:
        return context.unknown(f"{_LEASE} has no renewTime or no leaseDurationSeconds")
    age = context.now - lease.renew_time
    if age < -facts.LEASE_GRACE:
        return context.unknown(f"{_LEASE} was renewed in the future: the clocks disagree")
    if age <= lease.lasting:
        return context.met("The etcd operator renews its lease")
    if lease.moving:
        return context.unknown(f"{_LEASE} is renewed, but its times are too old: the clocks disagree")
    seen = f"{_LEASE} is held by {lease.holder} but has expired"
    return context.unmet(aim, seen, "Look at the pods in openshift-etcd-operator")


def members_direct(context: CheckContext) -> CheckResult:
    """At least N voters that each answer for themselves, healthy, of one mind, and no other member.

    Met needs a member list that came through the quorum, the same from every endpoint, one leader in one term, and the
    voters that the etcd operator publishes, by member id: `voting_members` ties each id to a node. A learner or a
    member that has not started means that etcd is still growing. A voter that is silent, and what is wrong in any
    answer, is Unmet; an answer that cannot be read, or a quorum that might be there, is Unknown. Source: etcd
    server/etcdserver/api/v3rpc/member.go (only a linearizable list goes through the quorum) and maintenance.go,
    server/etcdserver/api/etcdhttp/health.go (openshift-4.20 to openshift-4.22).
    """
    answers, wanted = need(context.facts.etcd_members), context.spec.at_least or 0
    confirmed = [voice for voice in answers.voices if voice.confirmed]
    examined = _examine(answers, confirmed, context.facts, wanted) if confirmed else _without_quorum(answers)
    verdicts = list(dict.fromkeys(examined))
    if wrong := [text for status, text in verdicts if status is CheckStatus.UNMET]:
        return context.unmet(f"{wanted} healthy etcd voters that agree, and no other member", wrong, f"Look at {_PODS}")
    if verdicts or not confirmed:
        return context.unknown([text for _, text in verdicts] or "none of the members has answered")
    voters = [member for member in confirmed[0].members if not member.learner]
    return context.met(f"{len(voters)} etcd voters answer, healthy, with one leader: {_names(voters)}")


def _examine(
    answers: facts.EtcdMembers, confirmed: list[facts.EtcdVoice], known: facts.Facts, wanted: int
) -> Iterator[tuple[CheckStatus, str]]:
    """Yield what is wrong (Unmet) and what is not clear (Unknown), by lists that came through the quorum."""
    voices, listed = answers.voices, confirmed[0].members
    if why := result.first_reason(
        (len({voice.cluster for voice in voices}) > 1, f"{_endpoints(voices)} belong to different etcd clusters"),
        (any(voice.members != listed for voice in confirmed), f"{_endpoints(confirmed)} give different member lists"),
    ):
        yield CheckStatus.UNMET, why
        return
    voters, learners = [each for each in listed if not each.learner], [each for each in listed if each.learner]
    started, waiting = [each for each in voters if each.name], [each for each in voters if not each.name]
    complaints = ", ".join(sorted({text for voice in voices for text in voice.errors}))
    complaints = complaints if len(complaints) <= _LONGEST else f"{complaints[:_LONGEST]}..."
    wrong = (
        (len(started) < wanted, f"{len(started)} voters: {_names(started) or 'none'}"),
        (bool(learners), f"{_names(learners)} is a learner, and becomes a voter once it has caught up"),
        (bool(waiting), f"{_names(waiting)} is a member that has not started"),
        # What all members call themselves unhealthy for stands before them.
        (bool(complaints), f"etcd itself says: {complaints}"),
    )
    yield from ((CheckStatus.UNMET, text) for holds, text in wrong if holds)
    # One that has not started is named by then; it can only be silent.
    for voter in started:
        yield from _voter(voter, answers)
    if why := _leaderless(voters, voices):
        yield CheckStatus.UNMET, why
    for stranger in sorted({voice.member for voice in voices} - {member.id for member in listed}):
        yield CheckStatus.UNMET, f"{stranger} answers, but is no member any more"
    for silence in [silence for silence in answers.silences if not silence.members]:
        # An endpoint that no member advertises may be anybody's. What is a member's own is said with the member.
        yield CheckStatus.UNKNOWN, f"{silence.endpoint}: {silence.why}"
    published, own = members(known), {voter.id: _name(voter) for voter in started}
    if isinstance(published, facts.Unobserved):
        yield CheckStatus.UNKNOWN, f"whether these are the members of this cluster: {published}"
        return
    unlisted = [name for id_, name in sorted(own.items()) if id_ not in published]
    gone = [id_ for id_ in sorted(published) if id_ not in own]
    ends = ((unlisted, f"is not in {ENDPOINTS}"), (gone, f"in {ENDPOINTS} is no started voter"))
    yield from ((CheckStatus.UNMET, f"{result.listed(names)} {what}") for names, what in ends if names)


def _endpoints(voices: Iterable[facts.EtcdVoice]) -> str:
    return result.listed([voice.endpoint for voice in voices])


def _without_quorum(answers: facts.EtcdMembers) -> Iterator[tuple[CheckStatus, str]]:
    """No list came through the quorum. Does etcd itself say that it has none?"""
    leaderless = [voice.endpoint for voice in answers.voices if voice.leader is None]
    status = CheckStatus.UNMET if leaderless else CheckStatus.UNKNOWN
    if leaderless:
        yield status, f"etcd has no quorum: {result.listed(leaderless)} knows of no leader"
    for voice in answers.voices if not leaderless else ():
        yield status, f"{voice.endpoint} gave no member list through the quorum: {voice.unconfirmed}"
    for silence in answers.silences:
        yield status, f"{silence.endpoint}: {silence.why}"


def _voter(voter: facts.EtcdMember, answers: facts.EtcdMembers) -> Iterator[tuple[CheckStatus, str]]:
    who, voices = _name(voter), [voice for voice in answers.voices if voice.member == voter.id]
    silences = [silence for silence in answers.silences if voter.id in silence.members]
    if not voices:
        down = silences and all(silence.down for silence in silences)
        for silence in silences:
            yield CheckStatus.UNMET if down else CheckStatus.UNKNOWN, f"{who} at {silence.endpoint}: {silence.why}"
        if not silences:
            yield CheckStatus.UNKNOWN, f"{who} could not be asked: it advertises no endpoint to ask at"
    for voice in voices:
        if not voice.confirmed:
            yield CheckStatus.UNMET, f"{who} has lost touch with the quorum: {voice.unconfirmed or 'no leader'}"
        if voice.learner:
            yield CheckStatus.UNMET, f"{who} calls itself a learner"
        if isinstance(voice.healthy, facts.Unobserved):
            if voice.confirmed:
                yield CheckStatus.UNKNOWN, str(voice.healthy)
        elif not voice.healthy:
            yield CheckStatus.UNMET, f"{who} calls itself unhealthy"


def _leaderless(voters: list[facts.EtcdMember], voices: tuple[facts.EtcdVoice, ...]) -> str | None:
    """What is wrong with the leader: all name one, itself a voter, in one term."""
    leaders, terms = {voice.leader for voice in voices}, {voice.term for voice in voices}
    lost = result.listed(sorted({voice.endpoint for voice in voices if voice.leader is None}))
    return result.first_reason(
        (None in leaders, f"{lost} knows of no leader"),
        (len(leaders) > 1, "the members name different leaders"),
        (not leaders <= {voter.id for voter in voters}, "the members name a leader that is no voter"),
        (len(terms) > 1, "the members are not in the same term: a leader is being elected"),
    )


def _name(member: facts.EtcdMember) -> str:
    return f"{member.name} ({member.id})" if member.name else member.id


def _names(listed: Iterable[facts.EtcdMember]) -> str:
    return result.listed(sorted(_name(member) for member in listed))
