"""Makes docs/api.md: every word, field and figure that others can see and script against.

Nothing is written here. Fields come from the schema of the CRD, words and their meanings from the docstrings of
`topology_api.vocabulary` and `shape`, stages and parameters of checks from the model of the transition definitions,
these from `bindata/transitions`, metrics from what the registry is made of. So the page cannot know more than the
code, nor less; what needs more words than a table has stands in docs/reference.md. `generate` writes the page and
compares it.
"""

from __future__ import annotations

import ast
import inspect
import itertools
from typing import TYPE_CHECKING, Any

from topology_api import crd, shape, vocabulary
from topology_controller.definitions import load, model, registry
from topology_controller.report import metrics

if TYPE_CHECKING:
    import enum
    import pathlib
    from collections.abc import Callable, Iterable, Iterator

_HEAD = """\
# The API in tables

<!-- made by `make generate` from api/topology_api, bindata/transitions and the registry of metrics; do not edit -->

What others can see and script against, generated from the code. What does not fit into a table stands in
[reference.md](reference.md); what to do about it in [operations.md](operations.md).
"""
_BOUNDS = (
    ("minLength", "at least {} character"),
    ("maxLength", "at most {} characters"),
    ("minimum", "at least {}"),
    ("maximum", "at most {}"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
)


class UndescribedError(Exception):
    """A word of the vocabulary has no docstring below it."""


def page(transitions_folder: pathlib.Path) -> str:
    """Return the whole page.

    Raises UndescribedError for a word without a meaning, load.DefinitionError for damaged definitions.
    """
    transitions = load.load(transitions_folder)
    contents = "\n".join(f"* [{title}](#{title.lower().replace(' ', '-')})" for title in _SECTIONS) + "\n"
    sections = (f"## {title}\n\n{text(transitions).strip()}\n" for title, text in _SECTIONS.items())
    return "\n".join((_HEAD, contents, *sections))


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def meanings(module: Any) -> dict[str, str]:
    """Return the docstring below each constant and each member of a class, by `NAME` or `Class.NAME`."""
    tree = ast.parse(inspect.getsource(module))
    docstrings = _below(tree.body, "")
    for part in tree.body:
        if isinstance(part, ast.ClassDef):
            docstrings |= _below(part.body, f"{part.name}.")
    return docstrings


def _below(body: list[ast.stmt], prefix: str) -> dict[str, str]:
    docstrings: dict[str, str] = {}
    for before, after in itertools.pairwise(body):
        target = before.target if isinstance(before, ast.AnnAssign) else None
        if isinstance(before, ast.Assign):
            target = before.targets[0]  # type: ignore[assignment]  # a name wherever words are defined
        docstring = after.value if isinstance(after, ast.Expr) else None
        if isinstance(target, ast.Name) and isinstance(docstring, ast.Constant) and isinstance(docstring.value, str):
            docstrings[prefix + target.id] = " ".join(docstring.value.split())
    return docstrings


_MEANINGS = meanings(vocabulary) | meanings(shape)


def _meaning(name: str) -> str:
    if name not in _MEANINGS:
        raise UndescribedError(f"{name} of topology_api has no docstring below it")
    return _MEANINGS[name]


def _words(words: type[enum.Enum]) -> Iterator[tuple[enum.Enum, str]]:
    return ((word, _meaning(f"{words.__name__}.{word.name}")) for word in words)


def _plain(words: type[enum.Enum], head: str, intro: str = "", outro: str = "") -> str:
    table = _table((head, "meaning"), ((f"`{word.value}`", text) for word, text in _words(words)))
    return (f"{intro}\n\n" if intro else "") + table + (f"\n{outro}\n" if outro else "")


# -- fields


def _request(_: load.Transitions) -> str:
    intro = f"`{crd.DESIRED_PATH[1:]}` of `{crd.PLURAL}.{crd.GROUP}/{crd.VERSION}`, object `cluster`:\n\n"
    return intro + _fields({"properties": {crd.DESIRED: crd.desired_schema()}}, "spec")


def _record(_: load.Transitions) -> str:
    schema = crd.record_schema()
    intro = f"`status.{crd.RECORD}`. {schema['description']} Paths below are relative to it.\n\n"
    return intro + _fields(schema, "")


def _fields(schema: dict[str, Any], prefix: str) -> str:
    return _table(("field", "type", "values and bounds", "meaning"), _rows(schema, prefix))


def _rows(schema: dict[str, Any], prefix: str) -> Iterator[tuple[str, str, str, str]]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        path = f"{prefix}.{name}" if prefix else name
        inner = field.get("items") or field
        shown = field["type"] if inner is field else f"list of {inner['type']}"
        needed = ", required" if name in required else ""
        yield f"`{path}`", shown + needed, _bounds(field, inner), field.get("description", "")
        if inner["type"] == "object":
            yield from _rows(inner, path if inner is field else f"{path}[]")


def _bounds(field: dict[str, Any], inner: dict[str, Any]) -> str:
    bounds = [f"`{value}`" for value in inner.get("enum", ())]
    if inner.get("format") == "date-time":
        bounds.append("RFC 3339")
    bounds += [words.format(field[key]) for key, words in _BOUNDS if key in field]
    keys = field.get("x-kubernetes-list-map-keys")
    if keys:
        bounds.append("keyed by " + " and ".join(f"`{key}`" for key in keys))
    return ", ".join(bounds)


def _columns(_: load.Transitions) -> str:
    rows = ((f"`{column['name']}`", f"`{column['jsonPath']}`") for column in crd.columns())
    return "Columns of `oc get infrastructure cluster`.\n\n" + _table(("column", "field"), rows)


# -- words


def _checks(_: load.Transitions) -> str:
    rows = []
    for word, text in _words(vocabulary.CheckName):
        check = vocabulary.CheckName(word.value)
        stages = registry.TRAITS[check].stages or {vocabulary.Stage.PREFLIGHT}
        stage = "both" if len(stages) > 1 else next(iter(stages)).value
        rows.append((f"`{check.value}`", stage, _parameters(check), text))
    intro = (
        "Each answers with a status. The message says what was wanted, what was found and which object to look at. "
        "Parameters in italics are required.\n\n"
    )
    statuses = _plain(vocabulary.CheckStatus, "status")
    stages = _plain(vocabulary.Stage, "stage")
    listed = _table(("check", "stage", "parameters", "Met when"), rows)
    return f"{intro}{statuses}\n{stages}\n{listed}"


def _parameters(check: vocabulary.CheckName) -> str:
    traits = registry.TRAITS[check]
    return ", ".join(f"*`{name}`*" if name in traits.required else f"`{name}`" for name in sorted(traits.parameters))


def _parameter_meanings(_: load.Transitions) -> str:
    fields = model.CheckSpec.model_fields
    below = meanings(model)
    rows = []
    for name in sorted(set().union(*(traits.parameters for traits in registry.TRAITS.values()))):
        field = next(key for key, value in fields.items() if (value.alias or key) == name)
        takers = [check.value for check, traits in registry.TRAITS.items() if name in traits.parameters]
        field_schema = model.CheckSpec.model_json_schema()["properties"][name]["anyOf"][0]
        rows.append(
            (
                f"`{name}`",
                ", ".join(f"`{taker}`" for taker in takers),
                ", ".join([field_schema["type"], *_limits(field_schema)]),
                below[f"CheckSpec.{field}"],
            )
        )
    return _table(("parameter", "of", "values", "meaning"), rows)


def _limits(schema: dict[str, Any]) -> Iterator[str]:
    words = (
        ("exclusiveMinimum", "more than {:g}"),
        ("minimum", "at least {:g}"),
        ("maximum", "at most {:g}"),
    )
    return (text.format(schema[key]) for key, text in words if key in schema)


def _reasons(_: load.Transitions) -> str:
    every = tuple(vocabulary.ConditionType)
    rows = []
    for word, text in _words(vocabulary.Reason):
        on = vocabulary.REASON_CONDITIONS[vocabulary.Reason(word.value)]
        rows.append((f"`{word.value}`", "all" if on == every else ", ".join(phase.value for phase in on), text))
    return _table(("reason", "on", "meaning"), rows)


def _switches(_: load.Transitions) -> str:
    names = ("PAUSED_ANNOTATION", "ETCD_BACKUP_ANNOTATION", "IMAGE_BASED_INSTALL_LABEL")
    rows = []
    for name in names:
        kind = "label" if name.endswith("LABEL") else "annotation"
        rows.append((f"`{getattr(vocabulary, name)}`", kind, _meaning(name)))
    return _table(("name", "kind", "meaning"), rows)


def _names(_: load.Transitions) -> str:
    names = ("OPERATOR_NAME", "CLUSTER_OPERATOR", "DEFAULT_NAMESPACE", "LEASE")
    return _table(("name", "what it is"), ((f"`{getattr(vocabulary, name)}`", _meaning(name)) for name in names))


# -- definitions and metrics


def _definitions(transitions: load.Transitions) -> str:
    rows = []
    for definition in transitions.definitions:
        source = f"{definition.source.control_plane}, infrastructure {' or '.join(definition.source.infrastructure)}"
        rows.append(
            (
                f"`{definition.name}`",
                source,
                f"{definition.target.control_plane}, infrastructure {definition.target.infrastructure}",
                str(definition.workers),
                ", ".join(definition.platforms),
                f"{definition.convergence.settle_seconds} s, {definition.convergence.deadline_minutes} min",
                definition.summary,
            )
        )
    heads = ("definition", "from", "to", "dedicated workers", "platforms", "settle, deadline", "summary")
    asked = _table(
        ("definition", "preflight", "convergence"),
        (
            (f"`{definition.name}`", _asked(definition.preflight), _asked(definition.convergence.checks))
            for definition in transitions.definitions
        ),
    )
    return f"{_table(heads, rows)}\nWhat each asks:\n\n{asked}"


def _asked(specs: Iterable[model.CheckSpec]) -> str:
    questions = []
    for spec in specs:
        given = spec.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"check"})
        text = ", ".join(f"{name}: {str(value).lower()}" for name, value in given.items())
        questions.append(f"`{spec.check.value}`" + (f" ({text})" if text else ""))
    return ", ".join(questions)


def _metrics(_: load.Transitions) -> str:
    rows = []
    for family in sorted(metrics.FAMILIES, key=lambda family: family.name):
        shown = ", ".join(f"`{label}`" for label in family.labels)
        meaning = family.help.replace("<", "&lt;").replace(">", "&gt;")
        rows.append((f"`{family.name}`", family.type, shown, meaning))
    intro = "Units, values of labels, and when a series is absent: [reference.md](reference.md#metrics).\n\n"
    outro = "\nBesides: `process_*`, as every Prometheus client has them.\n"
    return intro + _table(("metric", "type", "labels", "help"), rows) + outro


_SECTIONS: dict[str, Callable[[load.Transitions], str]] = {
    "The request": _request,
    "The record": _record,
    "Columns": _columns,
    "Topologies": lambda _: _plain(
        vocabulary.Topology, "topology", outro=f"`{vocabulary.EXTERNAL}`: {_meaning('EXTERNAL')}"
    ),
    "Shapes": lambda _: _plain(
        shape.Shape, "shape", "What people call a cluster, as label `shape` of `topology_info` has it."
    ),
    "Phases": lambda _: _plain(vocabulary.Phase, "phase"),
    "Checks": _checks,
    "Parameters": _parameter_meanings,
    "Advisories": lambda _: _plain(
        vocabulary.AdvisoryName,
        "advisory",
        f"In `status.{crd.RECORD}.advisories`, each with the command that ends it. What cannot be read gives none.",
    ),
    "Conditions": lambda _: _plain(
        vocabulary.ConditionType,
        "condition",
        f"Of ClusterOperator `{vocabulary.CLUSTER_OPERATOR}`; always all of them.",
    ),
    "Reasons": _reasons,
    "Events": lambda _: _plain(
        vocabulary.EventReason,
        "reason",
        "Kind `events.k8s.io/v1`, about Infrastructure `cluster`, in namespace `default`, each once per change.",
    ),
    "Annotations and labels": _switches,
    "Names": _names,
    "Transitions": _definitions,
    "Metrics": _metrics,
    "Exit codes": lambda _: _plain(vocabulary.ExitCode, "code"),
}
