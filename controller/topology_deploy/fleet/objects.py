"""What several engines are given alike, and where each part of a pack goes.

`File` is a part: a pack has two destinations, the hub and the managed clusters, and often two administrators. So each
says where it goes, who applies it, and in which Git repository it is at home. They are printed as one stream, or
written to a folder with a table. Alike are rights, placement and the survey, which says where each cluster is.
"""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import yaml

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
SURVEY = "topology-survey"
"""Name of the ManifestWork that says where a cluster is, in the namespace of each cluster on the hub."""
STATE_CONDITION = "Ready"
"""Condition of the survey: its message begins with the name of the state (`meaning.State`)."""


class ForeignFolderError(ValueError):
    """The folder has something that this pack would not write. The text says what, and what to do."""


@dataclass(frozen=True, slots=True)
class File:
    """A part of a pack."""

    place: str
    """HUB or CLUSTERS."""
    name: str
    what: str
    who: str
    text: str
    """YAML: documents, the last without a line `---` behind it."""
    alone: bool = False
    """It is only written to a folder: on the hub it would be wrong."""

    @property
    def path(self) -> str:
        """The file below the folder of the pack."""
        return f"{self.place}/{self.name}"


def stream(parts: Sequence[File]) -> str:
    """All parts as one stream of YAML, whose first line says where the documents go."""
    ranges, before = [], 0
    printed = [part for part in parts if not part.alone]
    for place in (CLUSTERS, HUB):
        number = sum(part.text.count("\n---\n") + 1 for part in printed if part.place == place)
        if number:
            first, before = before + 1, before + number
            ranges.append(f"{first}{f' to {before}' if number > 1 else ''} to {_PLACES[place]}")
    ordered = sorted(printed, key=lambda part: part.place == HUB)
    return f"# Documents: {', '.join(ranges)}. --output-dir DIR writes them apart.\n" + "---\n".join(
        part.text for part in ordered
    )


def table(engine: str, parts: Sequence[File]) -> str:
    """The table of a folder, in Markdown, in the order in which the files are applied."""
    rows = [_HEAD, ("---",) * len(_HEAD)]
    rows += [(f"`{part.path}`", part.what, _PLACES[part.place], part.who, _HOME[part.place]) for part in parts]
    listed = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    return f"{_MARK}{engine}\n\nApply the files in this order.\n\n{listed}"


def write(folder: pathlib.Path, engine: str, parts: Sequence[File]) -> str:
    """Write the parts and their table below a folder, and return the table.

    The folder is made where it is missing; what an earlier run of the same engine has written is replaced. Raises
    ForeignFolderError, with nothing written, for a folder that has anything else, and OSError.
    """
    text = table(engine, parts)
    readme = folder / _TABLE
    if folder.exists() and not folder.is_dir():
        raise ForeignFolderError(f"{folder} is a file. Give a folder")
    top = sorted(folder.iterdir()) if folder.exists() else []
    present = [*top, *(place for entry in top if entry.name in _HOME for place in sorted(entry.rglob("*")))]
    known = {_TABLE, *_HOME, *(part.path for part in parts)}
    # A link may lead to what is not ours.
    foreign = [place for place in present if place.is_symlink() or place.relative_to(folder).as_posix() not in known]
    if present and (not readme.is_file() or not readme.read_text(encoding="utf-8").startswith(f"{_MARK}{engine}\n")):
        foreign.append(readme if readme.exists() else present[0])
    if foreign:
        raise ForeignFolderError(
            f"{folder} has {foreign[0].relative_to(folder)}, which fleet {engine} has not written. Nothing was "
            "written: give an empty folder, or one with this pack only"
        )
    for name, content in ((_TABLE, text), *((part.path, part.text) for part in parts)):
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, encoding="utf-8")
    return text


def block(text: str, indent: int) -> str:
    """Indent the lines of a block of YAML, but the first, which stands where it is put."""
    return textwrap.indent(text.rstrip("\n"), " " * indent).lstrip(" ")


def flow(value: object) -> str:
    """Return a value as one line of YAML."""
    return yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False).removesuffix("...\n").strip()


def shared(plan: plans.Plan) -> tuple[File, ...]:
    """What every roll-out on a hub has: rights on the clusters, its place, and the survey."""
    wanted = plan.wanted
    return (
        File(CLUSTERS, "rbac.yaml", "rights of the engines' agents", "administrator of the cluster, or `fleet install`",
             rights()),
        File(HUB, "1-namespace.yaml", "namespace and ManagedClusterSetBinding", "administrator of the hub",
             place(wanted.namespace, wanted.cluster_set)),
        File(HUB, "2-survey.yaml", "the survey for `oc topology fleet`", "owner of the roll-out", survey(plan)),
    )  # fmt: skip


def rights() -> str:
    """What the engines' agents need on each cluster, and no more: no verb `delete`, and for the work agent no `update`.

    Without `update` the work agent's default strategy, which writes the whole object, is refused. The policy controller
    has no other way to write (open-cluster-management.io/config-policy-controller v0.18.0
    controllers/configurationpolicy_controller.go, checkAndUpdateResource); there the marker is what bounds it: our
    admission policy refuses every other field to a client that has it without the right to all.
    """
    return (bindata.root() / "fleet" / "rbac.yaml").read_text(encoding="utf-8")


def place(namespace: str, cluster_set: str) -> str:
    """The namespace of a pack on the hub, and the clusters that its Placements may choose.

    Without a binding a Placement chooses none. It has the name of its set, or the hub rejects it, and who creates it
    needs verb `create` on managedclustersets/bind (open-cluster-management.io/ocm v1.2.0
    pkg/registration/webhook/v1beta2). Every hub has set `global`, with all clusters.
    """
    return f"""\
# Where the objects are on the hub, and the set of clusters that they can reach. Creating the binding takes verb create
# on managedclustersets/bind.
apiVersion: v1
kind: Namespace
metadata: {{name: {namespace}}}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {{name: {cluster_set}, namespace: {namespace}}}
spec: {{clusterSet: {cluster_set}}}
"""


def selector(plan: plans.Plan) -> object:
    """The clusters of a roll-out."""
    wanted = plan.wanted
    if wanted.wave is None:
        return {"matchExpressions": [{"key": wanted.wave_label, "operator": "Exists"}]}
    values = [plans.CANARY_WAVE, wanted.wave]
    return {"matchExpressions": [{"key": wanted.wave_label, "operator": "In", "values": values}]}


_TOLERATIONS = """\
  # A cluster that cannot be reached stays in. Otherwise its work would be deleted, and a canary that dies would leave
  # an empty first group: the fleet would start.
  tolerations:
    - {key: cluster.open-cluster-management.io/unreachable, operator: Exists}
    - {key: cluster.open-cluster-management.io/unavailable, operator: Exists}
"""


def placed(namespace: str, name: str, labels: object) -> str:
    """A Placement of the clusters with these labels."""
    return f"""\
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  predicates:
    - requiredClusterSelector:
        labelSelector: {flow(labels)}
{_TOLERATIONS}"""


def placement(plan: plans.Plan, *, canaries_first: bool) -> str:
    """The clusters of a roll-out, as a Placement; with the canaries as a group of their own where an engine asks it."""
    wanted = plan.wanted
    text = placed(wanted.namespace, wanted.name, selector(plan))
    if canaries_first:
        text += f"""\
  decisionStrategy:
    groupStrategy:
      decisionGroups:
        - groupName: canary
          groupClusterSelector:
            labelSelector: {{matchLabels: {{{wanted.wave_label}: "{plans.CANARY_WAVE}"}}}}
"""
    return text


def survey(plan: plans.Plan) -> str:
    """Where each cluster is, read and never written: what `oc topology fleet` shows."""
    wanted = plan.wanted
    tests = meaning.work(plan.pair, wanted.transition)
    return manifests.filled(
        "fleet/templates/survey.tmpl",
        NAMESPACE=wanted.namespace,
        TOLERATIONS=_TOLERATIONS.rstrip("\n"),
        READY=block(meaning.holds(tests, {State.READY}), 16),
        MESSAGE=block(meaning.choice(tests, _message(plan)), 14),
    )


def _message(plan: plans.Plan) -> dict[State, str]:
    """What the survey says of a cluster in each state, as CEL: the state, and what it waits for."""
    names = [definition.name for definition in plan.definitions]
    blockers = (
        f"{meaning.RECORD}.?available.orValue([])"
        f'.filter(entry, entry.?name.orValue("") in {json.dumps(names)})'
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
