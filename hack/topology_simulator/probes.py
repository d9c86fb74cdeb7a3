"""Questions to the API in a scenario's words, and what an `oc` command says that the operator has printed, done.

Each question is answered from a fresh read. Of commands is understood what the operator's advisories and messages use:
`patch --type merge`, `delete` by name or by label, `annotate` and `label`, joined with `&&`. Anything else is refused:
a command that is done by halves would prove nothing. The demo runs on a machine that has no oc.
"""

import argparse
import json
import re
import shlex
import ssl
from typing import Any, NamedTuple

import aiohttp

from . import client, cluster, conditions, kinds, machines, scenario
from .apiserver import crds

_SCRAPE_SECONDS = 5.0


class Answer(NamedTuple):
    """Whether it holds, what was wanted, and what was found instead."""

    holds: bool
    wanted: str
    actual: str


def pick(obj: Any, path: str) -> Any:
    """Follow a dotted path; `list[key=value]` takes the first element with that value. None when it leads nowhere."""
    steps = re.sub(r"\[(\w+)=([^\]]*)\]", r'[?(@.\1=="\2")]', path)
    return next(iter(crds.json_path(f".{steps}")(obj)), None)


async def ask(
    api: client.Client, question: scenario.Condition, metrics: str = "", tls: ssl.SSLContext | None = None
) -> Answer:
    """Answer a scenario's condition; `metrics` is where the operator serves, `tls` the way in. Raises ClientError."""
    if question.phase is not None or question.check is not None or question.advisory is not None:
        record = (await _infrastructure(api)).get("topologyTransition") or {}
    if question.phase is not None:
        return _compared("phase", question.phase, record.get("phase"))
    if question.check is not None:
        return _check(question.check, record.get("checks") or [])
    if question.advisory is not None:
        shown = question.advisory.name in {advisory["name"] for advisory in record.get("advisories") or []}
        words = {True: "shown", False: "not there"}
        return _compared(f"advisory {question.advisory.name}", words[question.advisory.shown], words[shown])
    if question.metric is not None:
        lines = (line.rpartition(" ") for line in (await scraped(metrics, tls)).splitlines())
        present = next((float(value) for name, _, value in lines if name == question.metric.series), None)
        return _compared(f"metric {question.metric.series}", question.metric.equals, present)
    if question.condition is not None:
        return await _operator(api, question.condition)
    if question.ready_nodes is not None:
        nodes = await api.list(kinds.NODES)
        masters = [node for node in nodes if machines.LABEL + "master" in (node["metadata"].get("labels") or {})]
        return _compared(
            "ready nodes", question.ready_nodes, sum(conditions.is_true(node, "Ready") for node in masters)
        )
    if question.voters is not None:
        found_map = await api.find(kinds.CONFIG_MAPS, cluster.ETCD_ENDPOINTS, cluster.ETCD_NAMESPACE)
        return _compared("voters", question.voters, len((found_map or {}).get("data") or {}))
    if (field := question.field) is None:
        raise ValueError("a question without a subject")
    value = pick(await api.find(kinds.named(field.kind), field.name, field.namespace), field.path)
    wanted = "absent" if field.equals is None else field.equals
    return _compared(f"{field.kind}/{field.name} {field.path}", wanted, "absent" if value is None else value)


async def ended(api: client.Client, expect: scenario.Expect) -> list[Answer]:
    """Answer every expectation of a scenario. Raises ClientError."""
    status = await _infrastructure(api)
    phase = (status.get("topologyTransition") or {}).get("phase")
    pair = f"{status.get('controlPlaneTopology')}/{status.get('infrastructureTopology')}"
    operator = await api.find(kinds.CLUSTER_OPERATORS, "topology")
    answers = [_compared("phase", expect.phase, phase), _compared("topology", expect.topology, pair)]
    for type_, reason in expect.conditions.items():
        condition = conditions.find(operator, type_)
        answers.append(_compared(f"reason of {type_}", reason, condition.get("reason"), condition.get("message")))
    return answers


async def _infrastructure(api: client.Client) -> dict[str, Any]:
    infrastructure = await api.find(kinds.INFRASTRUCTURES, "cluster")
    return (infrastructure or {}).get("status") or {}


def _check(wanted: scenario.CheckIs, checks: list[dict[str, Any]]) -> Answer:
    stages = (wanted.stage,) if wanted.stage else ("Preflight", "Convergence")
    check: dict[str, Any] = next(
        (candidate for candidate in checks if candidate["name"] == wanted.name and candidate["stage"] in stages), {}
    )
    answer = _compared(f"check {wanted.name}", wanted.status, check.get("status"), check.get("message"))
    return _saying(answer, wanted.says, check.get("message"))


def _saying(answer: Answer, words: str | None, message: str | None) -> Answer:
    """Return the same answer, not holding when the message does not have these words."""
    if words is None:
        return answer
    return Answer(answer.holds and words in (message or ""), f"{answer.wanted} saying {words!r}", answer.actual)


async def scraped(url: str, tls: ssl.SSLContext | None = None, seconds: float = _SCRAPE_SECONDS) -> str:
    """Return the metrics that are served there. Raises UnreachableError."""
    timeout = aiohttp.ClientTimeout(total=seconds)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url + "/metrics", ssl=tls or True, raise_for_status=True) as response,
        ):
            return await response.text()
    except (aiohttp.ClientError, TimeoutError) as error:
        raise client.UnreachableError(f"GET {url}/metrics: {error!r}") from error


async def _operator(api: client.Client, wanted: scenario.ConditionIs) -> Answer:
    condition = conditions.find(await api.find(kinds.CLUSTER_OPERATORS, "topology"), wanted.type)
    pairs = [(wanted.status, condition.get("status")), (wanted.reason, condition.get("reason"))]
    asked = [(want, have) for want, have in pairs if want is not None]
    text = " ".join(str(want) for want, _ in asked)
    answer = _compared(
        f"condition {wanted.type}", text, " ".join(str(have) for _, have in asked), condition.get("message")
    )
    return _saying(answer, wanted.says, condition.get("message"))


def _compared(what: str, wanted: object, actual: object, message: str | None = None) -> Answer:
    more = f" ({message})" if message else ""
    shown = "nothing" if actual is None else str(actual)
    return Answer(wanted == actual or str(wanted) == str(actual), f"{what} {wanted}", f"{shown}{more}")


_IN_A_MESSAGE = re.compile(r"""\boc (?:'[^']*'|"[^"]*"|(?!\.\s)[^'"])*""")
_NOTES = {"annotate": "annotations", "label": "labels"}
_PARSER = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
for _names in (("-n", "--namespace"), ("--type",), ("-p", "--patch"), ("-l", "--selector"), ("--subresource",)):
    _PARSER.add_argument(*_names, default="")
_PARSER.add_argument("--overwrite", action="store_true")
_PARSER.add_argument("words", nargs="*")


class CommandError(Exception):
    """A command that cannot be done here; the message says why."""


def command_in(message: str) -> str:
    """Return the first command that a message has, up to the end of its sentence; empty when there is none."""
    match = _IN_A_MESSAGE.search(message)
    return match.group().strip().removesuffix(".") if match else ""


async def run_command(api: client.Client, text: str) -> None:
    """Do every command of a line, in order. Raises CommandError, ClientError."""
    if "$(" in text or "`" in text:
        raise CommandError(f"{text}: needs a shell")
    try:
        words = shlex.split(text)
        for command in " ".join(map(shlex.quote, words)).split(" '&&' "):
            program, *rest = shlex.split(command) or [""]
            if program not in ("oc", "kubectl"):
                raise CommandError(f"{text}: only oc commands are understood here")
            await _run(api, rest)
    except (ValueError, LookupError, argparse.ArgumentError) as error:
        raise CommandError(f"{text}: {error}") from error


async def _run(api: client.Client, given: list[str]) -> None:
    flags, unknown = _PARSER.parse_known_intermixed_args(given)
    given_words: list[str] = flags.words
    verb, what, *words = [*given_words, "", ""]
    if unknown or verb not in ("patch", "delete", *_NOTES):
        raise ValueError("is not understood here")
    name, _, word = what.partition("/")
    kind = kinds.named(name)
    pairs = [each for each in words if each]
    name = word or ("" if flags.selector or not pairs else pairs.pop(0))
    if not name and not flags.selector:
        raise ValueError("names no object")
    if verb == "delete":
        key, _, value = flags.selector.partition("=")
        listed = [] if name else await api.list(kind, flags.namespace)
        marked = [obj for obj in listed if (obj["metadata"].get("labels") or {}).get(key) == value]
        for each in [name] if name else [obj["metadata"]["name"] for obj in marked]:
            await api.delete(kind, each, flags.namespace)
        return
    if verb == "patch":
        if flags.type != "merge":
            raise ValueError("only --type merge is understood here")
        try:
            change = json.loads(flags.patch)
        except ValueError as error:
            raise ValueError(f"the patch is no JSON: {error}") from error
    elif not pairs or not all("=" in pair for pair in pairs):
        raise ValueError("wants key=value")
    else:
        change = {"metadata": {_NOTES[verb]: dict(pair.split("=", 1) for pair in pairs)}}
    await api.patch(kind, name, change, flags.namespace, flags.subresource)
