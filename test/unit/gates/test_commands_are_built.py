"""A command that is shown to be pasted has values only by `shell.command`, which quotes them.

Read from the source: text after `oc ` or `kubectl `, up to the end of its sentence, takes no value by an f-string, by
`format`, by `%` or by `+`. What is a constant (its name is in capitals) may stand there; a constant that begins a
command counts as its text. The templates of `shell.command` are literals, so no value slips in through them.
"""

import ast
import json
import pathlib
import re
import string
from collections.abc import Iterator

import pytest

from topology_api import vocabulary

ROOT = pathlib.Path(__file__).parents[3]
SOURCES = ("controller", "api", "hack/topology_simulator")
_BEGIN = re.compile(r"(?<![\w/.-])(?:oc|kubectl)(?= )")
_VERB = re.compile(r"(?:oc|kubectl) (?:(?:-n|--namespace) \S+ )?(?:-[-\w=]+ )*(?=[a-z{]|\Z|\x00)")
_END = re.compile(r"[.;:)`] |[.;:)`]?\n|\Z")
_VALUE = "\0"
"""Stands for a value in the text of an expression."""


def _files() -> Iterator[pathlib.Path]:
    for folder in SOURCES:
        yield from sorted((ROOT / folder).rglob("*.py"))


def _constant(node: ast.expr) -> str | None:
    """The name of a constant, None when it is none."""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name if re.fullmatch(r"_*[A-Z][A-Z0-9_]*", name) else None


def _beginnings(tree: ast.Module) -> dict[str, str]:
    """Constants of a module that hold a command or its beginning, by their name; "" for any other constant."""
    texts: dict[str, str] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case _:
                continue
        text = _text(value, {})
        if isinstance(value, ast.Call) and _is_built(value):
            text = ast.literal_eval(value.args[0]).replace("{}", "x")
        texts[name] = text.replace(_VALUE, "X") if _BEGIN.match(text) else ""
    return texts


def _of_all() -> dict[str, str]:
    """Those that other modules may use."""
    texts: dict[str, str] = {}
    for path in _files():
        own = _beginnings(ast.parse(path.read_text(encoding="utf-8")))
        texts |= {name: text for name, text in own.items() if text and not name.startswith("_")}
    return texts


def _text(node: ast.expr, beginnings: dict[str, str]) -> str:
    """The text of an expression as far as it can be read from it, with a mark for each value."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part, beginnings) for part in parts)
        case ast.FormattedValue(value=value):
            name = _constant(value)
            return _VALUE if name is None else (beginnings.get(name) or "X")
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left, beginnings) + _text(right, beginnings)
        case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod()):
            return re.sub(r"%(?:\(\w+\))?[-\d.]*[sdrg]", _VALUE, text)
        case ast.Call(func=ast.Attribute(value=text, attr="format")):
            return re.sub(r"(?<!\{)\{[\w.!:]*\}(?!\})", _VALUE, _text(text, beginnings))
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=str(between)), attr="join"),
            args=[ast.List(elts=parts) | ast.Tuple(elts=parts)],
        ):
            return between.join(_text(part, beginnings) for part in parts)
        case ast.Name() | ast.Attribute() if (name := _constant(node)) is not None:
            return beginnings.get(name) or "X"
        case _:
            return _VALUE


def _is_built(node: ast.Call) -> bool:
    return ast.unparse(node.func) == "shell.command"


def refused(source: str, beginnings: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each command with a value that is not built by `shell.command`."""
    tree = ast.parse(source)
    beginnings = {**beginnings, **_beginnings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _is_built(node):
            template = node.args[0] if node.args else None
            if not (isinstance(template, ast.Constant) and isinstance(template.value, str)):
                yield node.lineno, "a template of shell.command that is no literal"
        if not isinstance(node, ast.expr):
            continue
        text = _text(node, beginnings)
        for begin in _BEGIN.finditer(text):
            if _VERB.match(text, begin.start()) is None:
                continue
            end = _END.search(text, begin.end())
            command = text[begin.start() : end.start() if end else len(text)]
            if _VALUE in command:
                yield node.lineno, command.replace(_VALUE, "{...}")


def test_no_command_takes_a_value_but_by_the_function_that_quotes() -> None:
    beginnings = _of_all()
    assert "LOOK" in beginnings, "else a command in a constant is not seen"
    wrong = {
        f"{path.relative_to(ROOT)}:{line}: {command}"
        for path in _files()
        if path.name != "shell.py"
        for line, command in refused(path.read_text(encoding="utf-8"), beginnings)
    }
    assert sorted(wrong) == []


@pytest.mark.parametrize(
    "source",
    [
        'f"oc get node {name}"',
        'f"Look at: oc -n {namespace} get pods"',
        'f"{text}. Look at oc get node {node.name}"',
        'f"{_OC} describe baremetalhost {host.name}"',
        '_OC + " describe " + name',
        '"oc get node {}".format(name)',
        '"oc get node {node}".format(node=name)',
        '"oc get node %s" % name',
        '" ".join(["oc", "get", name])',
        'f"oc patch infrastructure cluster --type merge -p {shlex.quote(body)}"',
        """f'''oc patch x --type merge -p '{{"spec":{{"replicas":{count}}}}}\\''''""",
        'f"kubectl annotate node {joined[-1]} {POWER}"',
        'f"oc debug node/{homes[0].name} -- chroot /host && oc get nodes"',
        "shell.command(text, name)",
        'shell.command(f"oc get {kind} {{}}", name)',
    ],
)
def test_a_command_that_is_put_together_is_seen(source: str) -> None:
    assert list(refused(source, {"_OC": "oc -n openshift-machine-api"})) != []


def test_a_text_that_is_data_gets_values_for_its_places():
    texts = json.loads((ROOT / "bindata" / "texts.json").read_text())
    nodes = [node for file in _files() for node in ast.walk(ast.parse(file.read_text()))]
    said = {node.value for node in nodes if isinstance(node, ast.Constant)} | {*vocabulary.AdvisoryName}
    assert texts.keys() - said == set(), "nobody asks for these"
    calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("worded")]
    for call in calls:
        asked = [one.value for one in ast.walk(call.args[0]) if isinstance(one, ast.Constant)]
        names = [name for name in asked if isinstance(name, str)]
        values = {str(one.arg): one.value for one in call.keywords}
        for name in names if "None" not in values else ():
            parts = [(text, place) for text, place, *_ in string.Formatter().parse(texts[name])]
            assert {place for _, place in parts if place} == values.keys(), name
            begun = [at for at, (text, place) in enumerate(parts) if _BEGIN.search(text) or place == "look"]
            for _, place in parts[begun[0] :] if begun else ():
                assert place is None or _constant(values[place]), (name, place)
