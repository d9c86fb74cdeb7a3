"""Collects what is said about every name that a user can see: meaning, what to look at and do, where it comes from.

One source for `oc topology explain` (bindata/explanations.json), docs/api.md (`api_page`) and the `runbooks`. Meanings
stand where the names are: in docstrings, the help of the metrics, the schema of the CRD and the transition definitions;
what to do stands in hack/explanations. A name without a meaning, or advice for a name that does not exist, is an
error.
"""

import ast
import enum
import functools
import inspect
import itertools
import json
import operator
import pathlib
import re
import typing
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import pydantic
import yaml

from kubectl_topology import answers, capi, consistency, errors
from kubectl_topology.commands import fleet
from kubectl_topology.commands.explain import Explanation
from topology_api import crd, shape, vocabulary
from topology_controller.definitions import load, model, registry
from topology_controller.report import metrics
from topology_deploy import install_config
from topology_deploy.fleet import meaning as states

_ROOT = pathlib.Path(__file__).resolve().parent.parent
ADVICE = _ROOT / "hack" / "explanations"
RULES = _ROOT / "bindata" / "monitoring" / "0000_90_topology-operator_prometheusrule.yaml"
PLACED_RULES = _ROOT / "bindata" / "elsewhere" / "prometheusrule.yaml"
FLEET_RULES = _ROOT / "bindata" / "fleet" / "thanos-ruler-custom-rules.yaml"
_MANIFESTS = _ROOT / "bindata" / "manifests"
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_UNITS = {"m": "minutes", "h": "hours"}
_STAGES = {
    vocabulary.Stage.PREFLIGHT: "TopologyTransitionBlocked",
    vocabulary.Stage.CONVERGENCE: "TopologyTransitionStuck",
}
_EVENTS = {
    vocabulary.EventReason.TRANSITION_BLOCKED: vocabulary.Stage.PREFLIGHT,
    vocabulary.EventReason.TRANSITION_STUCK: vocabulary.Stage.CONVERGENCE,
}


class UndescribedError(Exception):
    """A name has no meaning, or something is said about a name that does not exist."""


def _commands(value: object) -> object:
    """A command, or a command with what to look for, as a pair."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list):
        return value
    return [(item, "") if isinstance(item, str) else next(iter(item.items())) for item in items]


_Sentences = Annotated[
    tuple[str, ...], pydantic.BeforeValidator(lambda text: (text,) if isinstance(text, str) else text)
]
_Commands = Annotated[tuple[tuple[str, str], ...], pydantic.BeforeValidator(_commands)]


class Advice(pydantic.BaseModel):
    """What is said of one name besides its meaning. `meaning` is for names that have none that fits elsewhere."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    meaning: str = ""
    impact: str = ""
    absent: str = ""
    note: str = ""
    look: _Commands = ()
    do: _Sentences = ()
    avoid: _Sentences = ()
    call: _Sentences = ()
    ends: str = ""
    source: str = ""
    runbooks: tuple[str, ...] = ()


class Kind(pydantic.BaseModel):
    """What is said of all names of a kind, and of each. `default` is what to do where a name does not say it."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    source: str = ""
    look: _Commands = ()
    default: str = ""
    names: dict[str, Advice] = {}


class Name(typing.NamedTuple):
    """A name that a user can see, with its meaning as the code has it (empty: advice has it)."""

    kind: str
    name: str
    meaning: str = ""
    detail: str = ""
    source: str = ""
    do: str = ""
    runbooks: tuple[str, ...] = ()


@functools.cache
def advice() -> dict[str, Kind]:
    """Read hack/explanations. Raises pydantic.ValidationError for what is no advice."""
    kinds: dict[str, Kind] = {}
    for place in sorted(ADVICE.glob("*.yaml")):
        for kind, content in yaml.safe_load(place.read_text(encoding="utf-8")).items():
            if kind in kinds:
                raise UndescribedError(f"{place.name}: {kind} stands in two files")
            kinds[kind] = Kind.model_validate(content)
    return kinds


def explanations(transitions: load.Transitions) -> list[Explanation]:
    """Return one explanation for each name of each kind. Raises UndescribedError."""
    kinds = advice()
    listed = list(names(transitions))
    for kind, content in kinds.items():
        if lost := set(content.names) - {name.name for name in listed if name.kind == kind}:
            raise UndescribedError(
                f"hack/explanations speaks of {kind} {', '.join(sorted(lost))}, which does not exist"
            )
    every = [_explanation(name, kinds.get(name.kind, Kind())) for name in listed]
    runbooks = {item["name"] for item in every if item["kind"] == "alert"}
    for item in every:
        where = f"{item['kind']} {item['name']}"
        if not item["meaning"] or not item["source"]:
            raise UndescribedError(
                f"{where} has no meaning or no source: give it a docstring, or words in hack/explanations"
            )
        if lost := set(item["runbooks"]) - runbooks:
            raise UndescribedError(f"{where} names runbook {', '.join(sorted(lost))}, and there is no such alert")
    return every


def text(transitions: load.Transitions) -> str:
    """Return bindata/explanations.json."""
    return json.dumps(explanations(transitions), indent=1) + "\n"


def _explanation(name: Name, kind: Kind) -> Explanation:
    own = kind.names.get(name.name, Advice())
    absent = f"Absent {own.absent}." if own.absent else ""
    return {
        "kind": name.kind,
        "name": name.name,
        "detail": name.detail,
        "meaning": " ".join(_unlinked(filter(None, (own.meaning or name.meaning, own.impact, own.note, absent)))),
        "look": [
            {"command": command.replace("{name}", name.name), "why": why} for command, why in own.look or kind.look
        ],
        "do": _unlinked(own.do or filter(None, (name.do or kind.default,))),
        "avoid": _unlinked(own.avoid),
        "call": _unlinked(own.call),
        "source": own.source or name.source or kind.source,
        "runbooks": list(own.runbooks or name.runbooks),
    }


def _unlinked(sentences: Iterable[str]) -> list[str]:
    """A terminal follows no link of Markdown."""
    return [_LINK.sub(r"\1", sentence) for sentence in sentences]


# -- every name


def names(transitions: load.Transitions) -> Iterator[Name]:
    """Every name that a command, a page, a condition, an event or a metric can show, in the order of their kinds."""
    yield from _checks()
    yield from _words("check status", vocabulary.CheckStatus)
    yield from _words("stage", vocabulary.Stage)
    yield from _words("advisory", vocabulary.AdvisoryName)
    yield from _words("phase", vocabulary.Phase)
    yield from _words("problem", vocabulary.ProblemReason)
    yield from _words("condition", vocabulary.ConditionType)
    yield from _words("condition status", vocabulary.ConditionStatus)
    for name in _words("reason", vocabulary.Reason):
        on = " or ".join(kind.value for kind in vocabulary.REASON_CONDITIONS[vocabulary.Reason(name.name)])
        stuck = (_STAGES[vocabulary.Stage.CONVERGENCE],) if name.name == vocabulary.Reason.TRANSITION_STUCK else ()
        yield name._replace(
            detail=f"of condition {on}", source="status.conditions of ClusterOperator topology", runbooks=stuck
        )
    for name in _words("event", vocabulary.EventReason):
        stage = _EVENTS.get(vocabulary.EventReason(name.name))
        yield name._replace(runbooks=() if stage is None else (_STAGES[stage],))
    yield from (Name("alert", alert, detail=after, runbooks=(alert,)) for alert, after in severities().items())
    yield from _metrics()
    yield from _transitions(transitions)
    yield from _words("topology", vocabulary.Topology)
    yield Name("topology", vocabulary.EXTERNAL, meaning("EXTERNAL"))
    yield from _words("shape", shape.Shape)
    for kind, words in (
        ("verdict", answers.Verdict), ("operator state", answers.Running), ("result", answers.Result),
        ("probe result", answers.Reached), ("finding", answers.Finding), ("operator verdict", answers.Goes),
    ):  # fmt: skip
        yield from (Name(kind, word) for word in typing.get_args(words))
    yield from _words("audit question", consistency.Question)
    yield from _words("fleet state", states.State)
    yield from (Name("fleet state", getattr(fleet, name), meaning(name)) for name in ("UNREACHABLE", "UNREPORTED"))
    yield from _words("shape rule", install_config.Rule)
    yield from _words("CAPI finding", capi.DeadEnd)
    yield from _columns()
    yield from _parameters()
    yield from _objects()
    yield from _words("exit code of cluster-topology-operator", vocabulary.ExitCode)
    yield from (Name("exit code of oc topology", str(code.value)) for code in errors.ExitCode)


def _words(kind: str, words: type[enum.Enum]) -> Iterator[Name]:
    return (Name(kind, str(word.value), meaning(f"{words.__name__}.{word.name}")) for word in words)


def _checks() -> Iterator[Name]:
    for name in _words("check", vocabulary.CheckName):
        stages = registry.TRAITS[vocabulary.CheckName(name.name)].stages or {vocabulary.Stage.PREFLIGHT}
        ordered = [stage for stage in vocabulary.Stage if stage in stages]
        yield name._replace(
            detail=" and ".join(stage.value for stage in ordered), runbooks=tuple(_STAGES[stage] for stage in ordered)
        )


def rules(file: pathlib.Path = RULES) -> list[dict[str, Any]]:
    """Every rule of a cluster."""
    groups = yaml.safe_load(file.read_text(encoding="utf-8"))["spec"]["groups"]
    return [rule for group in groups for rule in group["rules"]]


def placed_rules() -> list[dict[str, Any]]:
    """The rules that only an operator has which runs in another cluster than it acts on."""
    usual = {rule.get("alert") for rule in rules()}
    return [rule for rule in rules(PLACED_RULES) if rule["alert"] not in usual]


def fleet_rules() -> list[dict[str, Any]]:
    """Every rule of a hub."""
    files = yaml.safe_load(FLEET_RULES.read_text(encoding="utf-8"))["data"]
    return [rule for text in files.values() for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]


def severities() -> dict[str, str]:
    """How severe each alert is, and after what time: `warning after 15 minutes, critical after 30 minutes`."""
    alerts: dict[str, list[str]] = {}
    for rule in (*rules(), *placed_rules(), *fleet_rules()):
        if "alert" in rule:
            time = rule["for"]
            after = f"{rule['labels']['severity']} after {time[:-1]} {_UNITS[time[-1]]}"
            alerts.setdefault(rule["alert"], []).append(after.replace("1 hours", "1 hour"))
    return {alert: ", ".join(after) for alert, after in alerts.items()}


def _metrics() -> Iterator[Name]:
    for family in metrics.FAMILIES:
        labels = f", by {', '.join(family.labels)}" if family.labels else ""
        yield Name("metric", family.name, family.help, family.type + labels)
    yield from (Name("recorded metric", rule["record"]) for rule in rules() if "record" in rule)
    yield from (Name("fleet metric", rule["record"]) for rule in fleet_rules() if "record" in rule)


def _transitions(transitions: load.Transitions) -> Iterator[Name]:
    for definition in transitions.definitions:
        target = definition.target.control_plane
        yield Name(
            "transition",
            definition.name,
            f"{definition.summary}. From {definition.source.control_plane} to {definition.target.pair}.",
            source=f"bindata/transitions/{definition.name}.yaml",
            do=f"`oc topology plan {target}` shows what is missing, `oc topology set {target} --confirm` requests it.",
        )


def _columns() -> Iterator[Name]:
    described = dict(_described(crd.record_schema(), f".status.{vocabulary.RECORD}"))
    described[crd.DESIRED_PATH] = crd.desired_schema()["description"]
    for column in crd.columns():
        path = column["jsonPath"]
        known = described.get(path.removesuffix(".reason"), described.get(path, ""))
        yield Name("column", column["name"], known, detail=path.removeprefix("."))


def _described(schema: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    for name, field in schema.get("properties", {}).items():
        yield f"{path}.{name}", field.get("description", "")
        yield from _described(field, f"{path}.{name}")


def _parameters() -> Iterator[Name]:
    fields = model.CheckSpec.model_fields
    below = meanings(model)
    for name in sorted(set().union(*(traits.parameters for traits in registry.TRAITS.values()))):
        field = next(key for key, value in fields.items() if (value.alias or key) == name)
        takers = ", ".join(check.value for check, traits in registry.TRAITS.items() if name in traits.parameters)
        yield Name("parameter", name, below[f"CheckSpec.{field}"], detail=f"of {takers}")


def _objects() -> Iterator[Name]:
    for kind, constants in (
        ("field", ("DESIRED", "NATIVE_DESIRED", "RECORD")),
        ("annotation", ("PAUSED_ANNOTATION", "ETCD_BACKUP_ANNOTATION", "LOAD_BALANCER_BACKENDS_ANNOTATION")),
        ("annotation", ("ROUTER_DRAIN_ANNOTATION", "ELSEWHERE_ANNOTATION")),
        ("label", ("IMAGE_BASED_INSTALL_LABEL", "WAVE_LABEL")),
        ("ConfigMap", ("ACCEPTED_CHECKS", "CONFIGURATION")),
        ("ClusterOperator", ("CLUSTER_OPERATOR",)),
        ("Lease", ("LEASE",)),
        ("namespace", ("DEFAULT_NAMESPACE",)),
        ("program", ("OPERATOR_NAME",)),
        ("environment variable", ("RUNBOOKS_VARIABLE",)),
    ):
        yield from (Name(kind, getattr(vocabulary, constant), meaning(constant)) for constant in constants)
    for place in sorted(_MANIFESTS.glob("*.yaml")):
        for manifest in yaml.safe_load_all(place.read_text(encoding="utf-8")):
            role = manifest["metadata"]["name"]
            if manifest["kind"] in {"Role", "ClusterRole"} and role.startswith("topology-"):
                own = meaning("CHECK_ACCEPTOR") if role == vocabulary.CHECK_ACCEPTOR else ""
                yield Name(manifest["kind"], role, own)


# -- meanings, as the source has them


def meanings(module: Any) -> dict[str, str]:
    """Return the docstring below each constant and each member of a class, by `NAME` or `Class.NAME`."""
    tree = ast.parse(inspect.getsource(module))
    docstrings = _below(tree.body, "")
    for part in tree.body:
        if isinstance(part, ast.ClassDef):
            docstrings |= _below(part.body, f"{part.name}.")
    return docstrings


def _below(body: Iterable[ast.stmt], prefix: str) -> dict[str, str]:
    docstrings: dict[str, str] = {}
    for before, after in itertools.pairwise(body):
        target = before.target if isinstance(before, ast.AnnAssign) else None
        if isinstance(before, ast.Assign):
            target = before.targets[0]  # type: ignore[assignment]  # a name wherever words are defined
        docstring = after.value if isinstance(after, ast.Expr) else None
        if isinstance(target, ast.Name) and isinstance(docstring, ast.Constant) and isinstance(docstring.value, str):
            docstrings[prefix + target.id] = " ".join(docstring.value.split())
    return docstrings


_DESCRIBED = (vocabulary, shape, consistency, install_config, capi, states, fleet)
_MEANINGS = functools.reduce(operator.or_, map(meanings, _DESCRIBED))


def meaning(name: str) -> str:
    """The meaning of a word of `topology_api` or of a fleet, by `NAME` or `Class.NAME`. Raises UndescribedError."""
    if name not in _MEANINGS:
        raise UndescribedError(f"{name} has no docstring below it")
    return _MEANINGS[name]
