"""What each engine is given: rights, a survey of where each cluster is, the request, and when which cluster is asked.

`File` is a part: it goes to the hub or to the managed clusters, which often have two administrators. The texts are in
bindata/fleet/templates; `plan` has the values of their marks, `meaning` the expressions in them. Facts of the engines:

* ManifestWorkReplicaSet (open-cluster-management.io/ocm v1.2.0): a cluster has failed where its work is Progressing and
  Degraded; the clusters of a group come in the order of their names; without a Placement's decision a work is deleted;
  beside a mandatory group maxFailures has no effect (sdk-go v1.2.0 pkg/apis/cluster/v1alpha1/rollout.go).
* Policies inform, and TALM makes them enforce, a batch at a time. It takes everything between braces out of
  object-templates-raw and reads what is left as YAML (openshift-kni/cluster-group-upgrades-operator,
  StripObjectTemplatesRaw), so no key stands in two branches. A message has no `lookup`; where the policy watches, it
  has the whole object (config-policy-controller v0.18.0 controllers/configurationpolicy_controller.go).
* Argo CD and Flux apply what stands in Git, and judge by the request that the object carries.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from topology_api.vocabulary import Phase, Stage
from topology_controller import bindata

from .. import manifests
from . import meaning
from . import plan as plans
from .meaning import State

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Sequence

HUB: Final = "hub"
CLUSTERS: Final = "managed-clusters"
_HOME: Final = {HUB: "that of the hub", CLUSTERS: "that of the managed clusters"}
_PLACES: Final = {HUB: "the hub", CLUSTERS: "each managed cluster"}
_TABLE: Final = "README.md"
_MARK: Final = "# What goes where: fleet "
_HEAD: Final = ("file", "what", "where", "who applies it", "Git repository")
_OWNER: Final = "owner of the roll-out"


class File(NamedTuple):
    """A part of a pack: `place` is HUB or CLUSTERS, `text` YAML documents, the last without a line `---` behind it."""

    place: str
    name: str
    what: str
    who: str
    text: str
    alone: bool = False
    """It is only written to a folder: on the hub it would be wrong."""

    @property
    def path(self) -> str:
        """The file below the folder of the pack."""
        return f"{self.place}/{self.name}"


def stream(parts: Sequence[File]) -> str:
    """All parts as one stream of YAML, whose first line says where the documents go."""
    ranges, texts, before = [], [], 0
    for place in (CLUSTERS, HUB):
        printed = [part.text for part in parts if part.place == place and not part.alone]
        number = sum(text.count("\n---\n") + 1 for text in printed)
        if number:
            first, before = before + 1, before + number
            ranges.append(f"{first}{f' to {before}' if number > 1 else ''} to {_PLACES[place]}")
        texts += printed
    head = f"# Documents: {', '.join(ranges)}. --output-dir DIR writes them apart.\n"
    return head + "---\n".join(texts)


def write(folder: pathlib.Path, engine: str, parts: Sequence[File]) -> str:
    """Write the parts below a folder, and a table of them in the order in which they are applied; return that.

    The folder is made where it is missing; what an earlier run of the same engine has written is replaced. Raises
    ManifestsError, with nothing written, for a folder that has anything else, and OSError.
    """
    rows = [_HEAD, ("---",) * len(_HEAD)]
    rows += [(f"`{part.path}`", part.what, _PLACES[part.place], part.who, _HOME[part.place]) for part in parts]
    listed = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    text, readme = f"{_MARK}{engine}\n\nApply the files in this order.\n\n{listed}", folder / _TABLE
    if folder.exists() and not folder.is_dir():
        raise manifests.ManifestsError(f"{folder} is a file. Give a folder")
    top = sorted(folder.iterdir()) if folder.exists() else []
    present = [*top, *(place for entry in top if entry.name in _HOME for place in sorted(entry.rglob("*")))]
    known = {_TABLE, *_HOME, *(part.path for part in parts)}
    # A link may lead to what is not ours.
    foreign = [place for place in present if place.is_symlink() or place.relative_to(folder).as_posix() not in known]
    if present and (not readme.is_file() or not readme.read_text(encoding="utf-8").startswith(f"{_MARK}{engine}\n")):
        foreign.append(readme if readme.exists() else present[0])
    if foreign:
        has = f"{folder} has {foreign[0].relative_to(folder)}, which fleet {engine} has not written"
        hint = "give an empty folder, or one with this pack only"
        raise manifests.ManifestsError(f"{has}. Nothing was written: {hint}")
    for name, content in ((_TABLE, text), *((part.path, part.text) for part in parts)):
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, encoding="utf-8")
    return text


def _filled(plan: plans.Plan, template: str, **more: str) -> str:
    return manifests.filled(f"fleet/templates/{template}", **{**plan.marks(), **more})


def policies(plan: plans.Plan) -> tuple[File, ...]:
    """All objects for policies, in the order in which they are applied; the way back stands last."""
    return (
        *_shared(plan),
        File(HUB, "3-request.yaml", "the policy, which informs, and its clusters", _OWNER, request(plan)),
        File(HUB, "4-roll-out.yaml", "when: a ClusterGroupUpgrade, not enabled", _OWNER, group_upgrade(plan)),
        File(HUB, "5-cancel.yaml", "cancels what is left, not enabled", _OWNER, withdraw(plan)),
    )


def works(plan: plans.Plan) -> tuple[File, ...]:
    """All objects for works, in the order in which they are applied; the last ends with how to cancel, a comment."""
    what = "ManifestWorkReplicaSet, and the command that cancels"
    return (*_shared(plan), File(HUB, "3-roll-out.yaml", what, _OWNER, roll_out(plan)))


def argo(plan: plans.Plan, repository: str | None, path: str) -> tuple[File, ...]:
    """The health check for all of Argo CD, the waves of an ApplicationSet where a repository is named, the request."""
    owner, folder = "administrator of Argo CD", f"Argo CD, from folder `{path}` of each cluster"
    parts = [File(HUB, "1-argocd-cm.yaml", "health checks", owner, settings())]
    if repository is not None:
        text = _filled(plan, "applicationset.tmpl", REPOSITORY=json.dumps(repository), PATH=json.dumps(path))
        parts.append(File(HUB, "2-applicationset.yaml", "the waves", owner, text))
    parts[-1] = parts[-1]._replace(text=parts[-1].text + _cancel(plan, "argo"))
    text = _filled(plan, "infrastructure.tmpl")
    return (*parts, File(CLUSTERS, "infrastructure.yaml", "the request", folder, text, alone=True))


def _shared(plan: plans.Plan) -> tuple[File, ...]:
    """What every roll-out on a hub has: rights on the clusters, its place, and the survey."""
    return (
        File(CLUSTERS, "rbac.yaml", "rights of the engines' agents", "administrator of the cluster, or `fleet install`",
             rights()),
        File(HUB, "1-namespace.yaml", "namespace and ManagedClusterSetBinding", "administrator of the hub",
             place(plan.wanted.namespace, plan.wanted.cluster_set)),
        File(HUB, "2-survey.yaml", "the survey for `oc topology fleet`", _OWNER, survey(plan)),
    )  # fmt: skip


def rights() -> str:
    """What the engines' agents need on each cluster, and no more: no verb `delete`, and for the work agent no `update`.

    Without it the work agent's default strategy, which writes the whole object, is refused. The policy controller has
    no other way to write (config-policy-controller v0.18.0 checkAndUpdateResource): our admission policy bounds it.
    """
    return (bindata.root() / "fleet" / "rbac.yaml").read_text(encoding="utf-8")


def place(namespace: str, cluster_set: str) -> str:
    """The namespace of a pack on the hub, and the clusters that its Placements may choose: without a binding none."""
    # The hub rejects a binding that is not named after its set (ocm v1.2.0 pkg/registration/webhook/v1beta2).
    return manifests.filled("fleet/templates/namespace.tmpl", NAMESPACE=namespace, CLUSTER_SET=cluster_set)


def placement(namespace: str, name: str, labels: str) -> str:
    """A Placement of the clusters with these labels."""
    return manifests.filled("fleet/templates/placement.tmpl", NAME=name, NAMESPACE=namespace, SELECTOR=labels)


def binding(namespace: str, name: str, *policies: str) -> str:
    """Which policies the clusters of the Placement of this name get."""
    subject = "  - {apiGroup: policy.open-cluster-management.io, kind: Policy, name: %s}\n"
    head = manifests.filled("fleet/templates/binding.tmpl", NAME=name, NAMESPACE=namespace)
    return head + "".join(subject % each for each in policies)


def survey(plan: plans.Plan) -> str:
    """Where each cluster is, read and never written: what `oc topology fleet` shows."""
    tests = meaning.work(plan.pair, plan.names)
    ready = plans.block(meaning.holds(tests, {State.READY}), 16)
    return _filled(plan, "survey.tmpl", READY=ready, MESSAGE=plans.block(meaning.choice(tests, _message(plan)), 14))


def _message(plan: plans.Plan) -> dict[State, str]:
    """What the survey says of a cluster in each state, as CEL: the state, and what it waits for."""
    blockers = (
        f"{meaning.RECORD}.?available.orValue([])"
        f'.filter(entry, entry.?name.orValue("") in {json.dumps(plan.names)})'
        '.map(entry, entry.?name.orValue("") + ": " + entry.?blockers.orValue([])'
        '.map(blocker, blocker.?name.orValue("")).join(", ")).join("; ")'
    )
    texts = {state: f'"{state}"' for state in State}
    texts[State.NOT_READY] = f'"{State.NOT_READY}: " + {blockers}'
    # What it waits for: the checks of its stage that are not met. Preflight checks do not matter once it converges.
    waiting = (
        f"[{meaning.RECORD}.?checks.orValue([])"
        f'.filter(entry, entry.?status.orValue("") != "Met" && (entry.?stage.orValue("") == "{Stage.CONVERGENCE}" '
        f'|| {meaning.PHASE} != "{Phase.CONVERGING}")).map(entry, entry.?name.orValue(""))'
        '.join(", ")].filter(names, names != "").map(names, ": " + names).join("")'
    )
    texts[State.UNDER_WAY] = f'"{State.UNDER_WAY}: " + {meaning.PHASE} + {waiting}'
    reason = f"{meaning.RECORD}.?problem.?reason.orValue({meaning.PHASE})"
    texts[State.NEEDS_A_PERSON] = f'"{State.NEEDS_A_PERSON}: " + {reason} + {waiting}'
    return texts


def roll_out(plan: plans.Plan) -> str:
    """Placement and ManifestWorkReplicaSet, and as a comment the command that cancels."""
    wanted = plan.wanted
    tests = meaning.work(plan.pair, plan.names)
    # A cluster that is not for us has nothing to wait for, and has not failed.
    going_on = frozenset(State) - {State.DONE, State.NOT_FOR_US}
    text = _filled(
        plan,
        "work.tmpl",
        CLUSTERS=" ".join(wanted.canaries or ("CLUSTER",)),
        PLACEMENT=placement(wanted.namespace, wanted.name, plan.selector),
        GOING_ON=plans.block(meaning.holds(tests, going_on), 16),
        NEEDS_A_PERSON=plans.block(meaning.holds(tests, {State.NEEDS_A_PERSON}), 16),
    )
    return text + _cancel(plan, "work")


def request(plan: plans.Plan) -> str:
    """The policy, and where it applies: to the same clusters as the ClusterGroupUpgrade."""
    name, namespace = plan.wanted.name, plan.wanted.namespace
    raw = _filled(plan, "request.gotmpl", STATES=meaning.template(plan.pair, plan.names))
    policy, places = _policy(plan, name, raw, plan.wanted.soak), placement(namespace, name, plan.selector)
    bound = binding(namespace, name, name, f"{name}-withdraw")
    return _filled(plan, "policy-request.tmpl", POLICY=policy, PLACEMENT=places, BINDING=bound)


def _policy(plan: plans.Plan, name: str, raw: str, soak: int) -> str:
    return _filled(plan, "policy.tmpl", NAME=name, SOAK_SECONDS=f"{soak * 60}", RAW=plans.block(raw, 12))


def group_upgrade(plan: plans.Plan) -> str:
    """When which cluster is asked."""
    canaries = f"    canaries: {plans.flow(list(plan.wanted.canaries))}\n"
    upgrade = _filled(plan, "group-upgrade.tmpl", CANARIES=canaries, TIMEOUT=f"{plan.timeout}")
    return _filled(plan, "policy-roll-out.tmpl") + upgrade


def withdraw(plan: plans.Plan) -> str:
    """The last step of a roll-out that was stopped: cancels what was not fulfilled yet."""
    name, every = f"{plan.wanted.name}-withdraw", f"{plan.wanted.clusters}"
    policy = _policy(plan, name, _filled(plan, "cancel.gotmpl"), 0)
    # Half an hour for taking requests back: one write for each cluster.
    upgrade = _filled(plan, "group-upgrade.tmpl", NAME=name, CANARIES="", TIMEOUT="30", MAX_CONCURRENCY=every)
    return f"{_cancel(plan, 'policy')}{policy}---\n{upgrade}"


def _cancel(plan: plans.Plan, engine: str) -> str:
    return _filled(plan, "cancel.tmpl") + _filled(plan, f"{engine}-cancel.tmpl")


def settings() -> str:
    """ConfigMap argocd-cm; server-side apply leaves its other keys alone."""
    return manifests.filled("fleet/templates/argocd-cm.tmpl", HEALTH=plans.block(health(), 4))


def health() -> str:
    """The health check of Argo CD, in Lua with the basic library only: is what the object requests fulfilled?"""
    text = manifests.filled("fleet/health.lua")
    return text.replace("-- controller/", "-- Made by `make generate`; controller/", 1)


def flux_checks() -> str:
    """The entries of a Kustomization's healthCheckExprs: what neither expression holds for is in progress."""
    # A cluster that is not for us has failed where a request stands, and else is current. A pause is no failure.
    requested = f"{meaning.DESIRED}.hasValue()"
    paused = f'{meaning.RECORD}.?problem.?reason.orValue("") == "Paused"'
    failed = meaning.flux({State.NOT_FOR_US: requested, State.NEEDS_A_PERSON: f"!({paused})"})
    at_rest = dict.fromkeys((State.SILENT, State.READY, State.DONE), "true")
    current = plans.block(meaning.flux({State.NOT_FOR_US: f"!{requested}", **at_rest}), 8)
    return manifests.filled("fleet/templates/flux.tmpl", FAILED=plans.block(failed, 8), CURRENT=current)
