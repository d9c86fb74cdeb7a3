"""The rules of an operator that is placed elsewhere, bindata/elsewhere, as groups that promtool reads."""

from __future__ import annotations

from typing import Any

import yaml

from test.observability.rules import promtool

FILE = promtool.HERE.parents[2] / "bindata" / "elsewhere" / "prometheusrule.yaml"


def groups() -> list[dict[str, Any]]:
    """Its rule groups."""
    content: list[dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))["spec"]["groups"]
    return content


def rules() -> dict[str, dict[str, Any]]:
    """Its alerts by name."""
    return {rule["alert"]: rule for group in groups() for rule in group["rules"]}
