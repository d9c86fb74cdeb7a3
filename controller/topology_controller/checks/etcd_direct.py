"""etcd in its own words: do enough voters answer for themselves, are they well, and do they agree?

`etcd` asks what the etcd operator says; this asks the members, where the administrator has given certificates for it.
Met needs the whole picture: a member list that came through the quorum, the same from every endpoint; as many voters as
wanted and no other member (a learner, or a member that has not started, means that etcd is still growing, and the
change waits for rest); every voter answering itself, healthy and without a complaint; one leader that all of them name,
in one term; and the same voters as the etcd operator publishes. The last is by member id, which says more than an
address: it proves that these are the members of this cluster, and `etcd.voting_members` ties each id to a node.

A voter that the others list and that is silent is Unmet, and so is what is wrong in any answer, a quorum that etcd
itself misses included; a certificate that does not fit, an answer that cannot be read, or a quorum that might be there
is Unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..observe import facts
from . import etcd, result

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .result import CheckContext, CheckResult

_PODS = "the etcd pods in namespace openshift-etcd"
_LONGEST = 160


def members(context: CheckContext) -> CheckResult:
    """At least N voters that each answer, healthy, of one mind, and no other member.

    Source: etcd server/etcdserver/api/v3rpc/member.go (only a linearizable list goes through the quorum) and
    maintenance.go (status), server/etcdserver/api/etcdhttp/health.go (openshift-4.20 to openshift-4.22).
    """
    answers = context.facts.etcd_members
    if isinstance(answers, facts.Unobserved):
        return context.unknown(answers)
    wanted = context.spec.at_least or 0
    confirmed = [voice for voice in answers.voices if voice.confirmed]
    wrong, unclear = _examine(answers, confirmed, context.facts, wanted) if confirmed else _without_quorum(answers)
    if wrong:
        return context.unmet(f"{wanted} healthy etcd voters that agree, and no other member", wrong, f"Look at {_PODS}")
    if unclear:
        return context.unknown(unclear)
    voters = [member for member in confirmed[0].members if not member.learner]
    return context.met(f"{len(voters)} etcd voters answer, healthy, with one leader: {_names(voters)}")


def _examine(
    answers: facts.EtcdMembers, confirmed: list[facts.EtcdVoice], known: facts.Facts, wanted: int
) -> tuple[list[str], list[str]]:
    """What is wrong, and what is not clear."""
    if len({voice.cluster for voice in answers.voices}) > 1:
        return [f"{result.listed(voice.endpoint for voice in answers.voices)} belong to different etcd clusters"], []
    listed = confirmed[0].members
    if any(voice.members != listed for voice in confirmed):
        return [f"{result.listed(voice.endpoint for voice in confirmed)} give different member lists"], []
    voters = [member for member in listed if not member.learner]
    wrong, unclear = _composition(listed, wanted), []
    # What all members call themselves unhealthy for stands before them.
    if complaints := sorted({text for voice in answers.voices for text in voice.errors}):
        text = ", ".join(complaints)
        wrong.append(f"etcd itself says: {text if len(text) <= _LONGEST else f'{text[:_LONGEST]}...'}")
    for voter in voters:
        # One that has not started is named by then; it can only be silent.
        if voter.name:
            bad, dim = _voter(voter, answers)
            wrong += bad
            unclear += dim
    wrong += _leadership(voters, answers.voices)
    strangers = sorted({voice.member for voice in answers.voices} - {member.id for member in listed})
    wrong += [f"{stranger} answers, but is no member any more" for stranger in strangers]
    # An endpoint that no member advertises may be anybody's. What is a member's own is said with the member.
    unclear += [f"{silence.endpoint}: {silence.why}" for silence in answers.silences if not silence.members]
    published = etcd.members(known)
    if isinstance(published, facts.Unobserved):
        return wrong, [*unclear, f"whether these are the members of this cluster: {published}"]
    own = {voter.id: _name(voter) for voter in voters if voter.name}
    if unlisted := [name for id_, name in sorted(own.items()) if id_ not in published]:
        wrong.append(f"{result.listed(unlisted)} is not in {etcd.ENDPOINTS}")
    if gone := [id_ for id_ in sorted(published) if id_ not in own]:
        wrong.append(f"{result.listed(gone)} in {etcd.ENDPOINTS} is no started voter")
    return wrong, unclear


def _without_quorum(answers: facts.EtcdMembers) -> tuple[list[str], list[str]]:
    """No list came through the quorum. Does etcd itself say that it has none?"""
    leaderless = [voice for voice in answers.voices if voice.leader is None]
    silent = [f"{silence.endpoint}: {silence.why}" for silence in answers.silences]
    if leaderless:
        places = result.listed(voice.endpoint for voice in leaderless)
        return [f"etcd has no quorum: {places} knows of no leader", *silent], []
    waiting = [
        f"{voice.endpoint} gave no member list through the quorum: {voice.unconfirmed}" for voice in answers.voices
    ]
    return [], waiting + silent or ["none of the members has answered"]


def _composition(listed: tuple[facts.EtcdMember, ...], wanted: int) -> list[str]:
    learners = [member for member in listed if member.learner]
    voters = [member for member in listed if not member.learner]
    started = [member for member in voters if member.name]
    wrong = []
    if len(started) < wanted:
        wrong.append(f"{len(started)} voters: {_names(started) or 'none'}")
    if learners:
        wrong.append(f"{_names(learners)} is a learner, and becomes a voter once it has caught up")
    if len(started) < len(voters):
        wrong.append(f"{_names(member for member in voters if not member.name)} is a member that has not started")
    return wrong


def _voter(voter: facts.EtcdMember, answers: facts.EtcdMembers) -> tuple[list[str], list[str]]:
    """What is wrong with one voter, and what is not clear about it."""
    who, wrong, unclear = _name(voter), [], []
    voices = [voice for voice in answers.voices if voice.member == voter.id]
    if not voices:
        silences = [silence for silence in answers.silences if voter.id in silence.members]
        why = [f"{who} at {silence.endpoint}: {silence.why}" for silence in silences]
        if silences and all(silence.down for silence in silences):
            return why, []
        return [], why or [f"{who} could not be asked: it advertises no endpoint to ask at"]
    for voice in voices:
        if not voice.confirmed:
            wrong.append(f"{who} has lost touch with the quorum: {voice.unconfirmed or 'no leader'}")
        if voice.learner:
            wrong.append(f"{who} calls itself a learner")
        if isinstance(voice.healthy, facts.Unobserved):
            if voice.confirmed:
                unclear.append(str(voice.healthy))
        elif not voice.healthy:
            wrong.append(f"{who} calls itself unhealthy")
    return list(dict.fromkeys(wrong)), unclear


def _leadership(voters: list[facts.EtcdMember], voices: tuple[facts.EtcdVoice, ...]) -> list[str]:
    """One leader that all name, itself a voter, and one term. Said only when all know of some leader."""
    leaders = {voice.leader for voice in voices}
    if None in leaders:
        lost = result.listed(sorted({voice.endpoint for voice in voices if voice.leader is None}))
        return [f"{lost} knows of no leader"]
    if len(leaders) > 1:
        return ["the members name different leaders"]
    if not leaders <= {voter.id for voter in voters}:
        return ["the members name a leader that is no voter"]
    if len({voice.term for voice in voices}) > 1:
        return ["the members are not in the same term: a leader is being elected"]
    return []


def _name(member: facts.EtcdMember) -> str:
    return f"{member.name} ({member.id})" if member.name else member.id


def _names(listed: Iterable[facts.EtcdMember]) -> str:
    return result.listed(sorted(_name(member) for member in listed))
