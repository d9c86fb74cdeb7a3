"""etcd in its own words: do enough voters answer for themselves, are they well, and do they agree?

`etcd` asks what the etcd operator says; this asks the members, where the administrator has given certificates for it.
Met needs the whole picture: a member list that came through the quorum, the same from every endpoint; as many voters as
wanted and nobody besides (a learner, or a member that has not started, means that etcd is still growing, and the change
waits for rest); every voter answering itself, healthy and without a complaint; one leader that all of them name, in one
term; and the same voters as the etcd operator publishes. The last is by member id, which says more than an address: it
proves that these are the members of this cluster, and `etcd.voting_members` ties each id to a node.

What a member said and what it did not say are told apart. A voter that the others list and that is silent is Unmet, and
so is what is wrong in any answer, a quorum that etcd itself misses included; a certificate that does not fit, an answer
that nobody understands, or a quorum that might be there is Unknown.
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
    """At least N voters that each answer, healthy, of one mind, and nobody else.

    Source: etcd server/etcdserver/api/v3rpc/member.go (only a linearizable list goes through the quorum) and
    maintenance.go (status), server/etcdserver/api/etcdhttp/health.go (openshift-4.20 to openshift-4.22).
    """
    found = context.facts.etcd_members
    if isinstance(found, facts.Unobserved):
        return context.unknown(found)
    wanted = context.spec.at_least or 0
    wrong, unclear = _examine(found, context.facts, wanted)
    if wrong:
        return context.unmet(
            f"Wanted: {wanted} etcd voters that each answer for themselves, healthy and agreeing, and no other member. "
            f"Found: {'; '.join(_bounded(wrong))}. Look at {_PODS}"
        )
    if unclear:
        return context.unknown(f"{'; '.join(_bounded(unclear))}. Look at {_PODS}")
    voters = [member for member in _confirmed(found)[0].members if not member.learner]
    return context.met(f"{len(voters)} etcd voters answer, healthy, with one leader: {_names(voters)}")


def _examine(found: facts.EtcdMembers, known: facts.Facts, wanted: int) -> tuple[list[str], list[str]]:
    """What is wrong, and what is not clear."""
    confirmed = _confirmed(found)
    if not confirmed:
        return _without_quorum(found)
    clusters = {voice.cluster for voice in found.voices}
    if len(clusters) > 1:
        places = result.listed(voice.endpoint for voice in found.voices)
        return [f"{places} belong to different etcd clusters"], []
    listed = confirmed[0].members
    if any(voice.members != listed for voice in confirmed):
        places = result.listed(voice.endpoint for voice in confirmed)
        return [f"{places} give different member lists"], []
    voters = [member for member in listed if not member.learner]
    wrong, unclear = _composition(listed, wanted), []
    for voter in voters:
        bad, dim = _voter(voter, found)
        wrong += bad
        unclear += dim
    wrong += _leadership(voters, found.voices)
    complaints = sorted({text for voice in found.voices for text in voice.errors})
    if complaints:
        wrong.append(f"etcd itself says: {_quoted(complaints)}")
    strangers = sorted({voice.member for voice in found.voices} - {member.id for member in listed})
    wrong += [f"{stranger} answers, but is no member any more" for stranger in strangers]
    # An endpoint that no member advertises may be anybody's. What is a member's own is said with the member.
    unclear += [f"{one.endpoint}: {one.why}" for one in found.silences if not one.members]
    bad, dim = _published(voters, known)
    return wrong + bad, unclear + dim


def _confirmed(found: facts.EtcdMembers) -> list[facts.EtcdVoice]:
    return [voice for voice in found.voices if voice.confirmed]


def _without_quorum(found: facts.EtcdMembers) -> tuple[list[str], list[str]]:
    """Nobody's list came through the quorum. Does etcd itself say that it has none?"""
    leaderless = [voice for voice in found.voices if voice.leader is None]
    silent = [f"{one.endpoint}: {one.why}" for one in found.silences]
    if leaderless:
        places = result.listed(voice.endpoint for voice in leaderless)
        return [f"etcd has no quorum: {places} knows of no leader", *silent], []
    waiting = [
        f"{voice.endpoint} gave no member list through the quorum: {voice.unconfirmed}" for voice in found.voices
    ]
    return [], waiting + silent or ["none of the members has answered"]


def _composition(listed: tuple[facts.EtcdMember, ...], wanted: int) -> list[str]:
    voters = [member for member in listed if not member.learner]
    learners = [member for member in listed if member.learner]
    started = [member for member in voters if member.name]
    wrong = []
    if len(started) < wanted:
        wrong.append(f"{len(started)} voters: {_names(started) or 'none'}")
    if learners:
        wrong.append(f"{_names(learners)} is a learner, and becomes a voter once it has caught up")
    if len(started) < len(voters):
        wrong.append(f"{_names(member for member in voters if not member.name)} is a member that has not started")
    return wrong


def _voter(voter: facts.EtcdMember, found: facts.EtcdMembers) -> tuple[list[str], list[str]]:
    """What is wrong with one voter, and what cannot be told of it."""
    if not voter.name:
        return [], []  # Said already; it can only be silent.
    who, wrong, unclear = _name(voter), [], []
    voices = [voice for voice in found.voices if voice.member == voter.id]
    if not voices:
        tried = [one for one in found.silences if voter.id in one.members]
        silences = [f"{who} at {one.endpoint}: {one.why}" for one in tried]
        if tried and all(one.down for one in tried):
            return silences, []
        return [], silences or [f"{who} could not be asked: it advertises no endpoint to ask at"]
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


def _published(voters: list[facts.EtcdMember], known: facts.Facts) -> tuple[list[str], list[str]]:
    """The same voters as the etcd operator publishes, by member id."""
    published = etcd.members(known)
    if isinstance(published, facts.Unobserved):
        return [], [f"whether these are the members of this cluster: {published}"]
    own = {voter.id: _name(voter) for voter in voters if voter.name}
    unlisted = [name for id_, name in sorted(own.items()) if id_ not in published]
    gone = [id_ for id_ in sorted(published) if id_ not in own]
    wrong = []
    if unlisted:
        wrong.append(f"{result.listed(unlisted)} is not in {etcd.ENDPOINTS}")
    if gone:
        wrong.append(f"{result.listed(gone)} in {etcd.ENDPOINTS} is no started voter")
    return wrong, []


def _name(member: facts.EtcdMember) -> str:
    return f"{member.name} ({member.id})" if member.name else member.id


def _names(members_: Iterable[facts.EtcdMember]) -> str:
    return result.listed(sorted(_name(member) for member in members_))


def _quoted(words: list[str]) -> str:
    text = ", ".join(words)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _bounded(findings: list[str], most: int = 6) -> list[str]:
    rest = len(findings) - most
    return findings if rest <= 0 else [*findings[:most], f"and {rest} more"]
