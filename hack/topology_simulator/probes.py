"""Questions to the API in a scenario's words, each answered from a fresh read: does it hold, and what was found?"""

import re
import ssl
from typing import Any, NamedTuple

import aiohttp

from . import client, cluster, conditions, kinds, machines, scenario

_SCRAPE_SECONDS = 5.0

_SEGMENT = re.compile(r"^(?P<name>[^\[\]]*)(?:\[(?P<key>[^=\]]+)=(?P<value>[^\]]*)\])?$")


class Answer(NamedTuple):
    """Whether it holds, what was wanted, and what was found instead."""

    holds: bool
    wanted: str
    actual: str


def pick(obj: Any, path: str) -> Any:
    """Follow a dotted path; `list[key=value]` takes the first element with that value. None when it leads nowhere."""
    for segment in re.split(r"\.(?![^\[]*\])", path):
        match = _SEGMENT.match(segment)
        if match is None:
            return None
        if match["name"]:
            obj = obj.get(match["name"]) if isinstance(obj, dict) else None
        if match["key"]:
            items = obj if isinstance(obj, list) else []
            obj = next((item for item in items if str(item.get(match["key"])) == match["value"]), None)
    return obj


async def _field(api: client.Client, field: scenario.Field_) -> Answer:
    obj = await api.find(kinds.named(field.kind), field.name, field.namespace)
    value = pick(obj, field.path)
    wanted = "absent" if field.equals is None else field.equals
    return _compared(f"{field.kind}/{field.name} {field.path}", wanted, "absent" if value is None else value)


async def ask(
    api: client.Client, question: scenario.Condition, metrics: str = "", tls: ssl.SSLContext | None = None
) -> Answer:
    """Answer a scenario's condition; `metrics` is where the operator serves, `tls` the way in. Raises ClientError."""
    if question.phase is not None:
        record = (await _infrastructure(api)).get("topologyTransition") or {}
        return _compared("phase", question.phase, record.get("phase"))
    if question.check is not None:
        record = (await _infrastructure(api)).get("topologyTransition") or {}
        return _check(question.check, record.get("checks") or [])
    if question.advisory is not None:
        record = (await _infrastructure(api)).get("topologyTransition") or {}
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
    if question.field is None:
        raise ValueError("a question without a subject")
    return await _field(api, question.field)


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
