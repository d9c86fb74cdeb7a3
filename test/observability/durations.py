"""Rules and queries in which a minute is a second, so that an alert that waits an hour can be seen within one.

Every duration of a rule is divided by `FACTOR`: `for`, `keep_firing_for`, the interval of its group, and what stands in
an expression as a range, a step or an offset. Prometheus scrapes once a second here instead of once in 30 to 60, so a
rule sees about as many samples as on a cluster. Two floors keep it meaningful on a busy machine: a range has room for
`LEAST_RANGE` scrapes, and nothing is asked for more often than once a second. Numbers that happen to be seconds (as in
`time() - x > 600`) are durations to people and not to PromQL; they stay, and promtool tests them.
"""

from __future__ import annotations

import copy
import re
from typing import Any

FACTOR = 60
LEAST_RANGE = 5.0
"""Seconds, and scrapes."""
_LEAST_STEP = 1.0
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31536000.0}
_PART = re.compile(r"(\d+)(ms|[smhdwy])")
_DURATION = r"(?:\d+(?:ms|[smhdwy]))+"
_WHOLE = re.compile(_DURATION)
_TOKEN = re.compile(
    rf"""(?P<kept>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`|\#[^\n]*)
       | \[\s*(?P<range>{_DURATION})\s*(?P<colon>:\s*(?P<step>{_DURATION})?\s*)?\]
       | (?P<offset>\boffset\s+-?\s*)(?P<by>{_DURATION})""",
    re.VERBOSE,
)
_OF_A_RULE = ("for", "keep_firing_for")


def seconds(text: str) -> float:
    """Read a duration as Prometheus writes it, e.g. 1h30m. Raises ValueError."""
    if text == "0":
        return 0.0
    if _WHOLE.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a duration")
    return sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def shorter(text: str, least: float = 0.0) -> str:
    """Return a duration divided by FACTOR, and not less than `least` seconds. Raises ValueError."""
    return f"{round(max(seconds(text) / FACTOR, least) * 1000)}ms"


def expression(text: str) -> str:
    """Return a PromQL expression with shorter ranges, steps and offsets; strings and comments stay."""
    return _TOKEN.sub(_shorter, text)


def _shorter(found: re.Match[str]) -> str:
    if found["kept"] is not None:
        return found["kept"]
    if found["by"] is not None:
        return found["offset"] + shorter(found["by"])
    if found["colon"] is None:
        return f"[{shorter(found['range'], LEAST_RANGE)}]"
    step = "" if found["step"] is None else shorter(found["step"], _LEAST_STEP)
    return f"[{shorter(found['range'], LEAST_RANGE)}:{step}]"


def groups(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rule groups with all their durations shorter. Raises ValueError."""
    made = copy.deepcopy(content)
    for group in made:
        if "interval" in group:
            group["interval"] = shorter(group["interval"], _LEAST_STEP)
        for rule in group["rules"]:
            rule["expr"] = expression(str(rule["expr"]))
            rule.update({key: shorter(rule[key]) for key in _OF_A_RULE if key in rule})
    return made
