# ruff: noqa: INP001 - `generate` imports it, a script beside this folder

"""Makes the dashboards of a cluster and of a fleet from the YAML files beside this one; `generate` writes them.

The console reads JSON that looks like that of an old Grafana, and only a part of it: rows of panels `graph`,
`singlestat` and `table`, widths of twelfths, one query and value mappings for a singlestat, `styles` for the columns of
a table (openshift/monitoring-plugin, src/components/dashboards). Grafana gets the panels of today, with a data source
that is asked for when it is imported.
"""

import json
import pathlib
import string
from typing import Any

import yaml

HERE = pathlib.Path(__file__).resolve().parent
MONITORING = HERE.parents[1] / "bindata" / "monitoring"
CONSOLE = MONITORING / "0000_90_topology-operator_dashboard.yaml"
GRAFANA = MONITORING / "grafana" / "cluster-topology.json"
SOURCE = HERE / "dashboard.yaml"
FLEET = HERE.parents[1] / "bindata" / "fleet" / "grafana-fleet.yaml"
FLEET_SOURCE = HERE / "fleet.yaml"

_DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_COLUMNS = 24
_HEIGHTS = {"stat": 4, "table": 8, "graph": 8, "matrix": 8}
_GRAFANA = yaml.safe_load((HERE / "grafana.yaml").read_text(encoding="utf-8"))


def _letters(queries: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    return list(zip(string.ascii_uppercase, queries, strict=False))


# -- the OpenShift console


def console(source: dict[str, Any]) -> dict[str, Any]:
    """Return the dashboard as the console reads it."""
    number = 0
    rows = []
    for row in source["rows"]:
        panels = [_console_panel(panel, id_) for id_, panel in enumerate(row["panels"], start=number + 1)]
        number += len(panels)
        rows.append({"title": row["title"], "showTitle": True, "collapse": False, "panels": panels})
    return {"title": source["title"], "tags": ["cluster-topology-operator"], "templating": {"list": []}, "rows": rows}


def _console_panel(panel: dict[str, Any], number: int) -> dict[str, Any]:
    described: dict[str, Any] = {"id": number, "title": panel["title"], "span": panel["width"]}
    unit = panel.get("unit", "short")
    targets = [
        {"refId": letter, "expr": query["expr"], "legendFormat": query.get("legend", "")}
        for letter, query in _letters(panel["queries"])
    ]
    match panel["kind"]:
        case "stat":
            described |= {"type": "singlestat", "format": unit, "decimals": 0}
            described["valueMaps"] = [
                {"op": "=", "value": value, "text": shown["text"]} for value, shown in panel.get("values", {}).items()
            ]
            if "thresholds" in panel:
                described["options"] = {"fieldOptions": {"thresholds": panel["thresholds"]}}
        case "table":
            described |= {"type": "table", "transform": "table", "styles": _styles(panel)}
        case kind:
            # It has no panel for states over time: what is 1 while something holds is stacked there.
            stacked = kind == "matrix"
            described |= {"type": "graph", "stack": stacked, "legend": {"show": True}, "yaxes": [{"format": unit}]}
    return {**described, "targets": targets}


def _styles(panel: dict[str, Any]) -> list[dict[str, Any]]:
    labels = [{"pattern": label, "alias": title, "type": "string"} for label, title in panel["labels"].items()]
    values = [
        {
            "pattern": f"Value #{letter}",
            "alias": query["column"],
            "type": "number",
            "unit": query.get("unit", "short"),
            "decimals": 0,
        }
        for letter, query in _letters(panel["queries"])
        if "column" in query
    ]
    return [*labels, *values]


# -- Grafana


def grafana(source: dict[str, Any]) -> dict[str, Any]:
    """Return the dashboard as Grafana imports it."""
    panels: list[dict[str, Any]] = []
    top = 0
    for row in source["rows"]:
        place = {"h": 1, "w": _COLUMNS, "x": 0, "y": top}
        head = {"type": "row", "title": row["title"], "collapsed": False, "gridPos": place, "id": len(panels) + 1}
        panels.append({**head, "panels": []})
        top += 1
        left = height = 0
        for panel in row["panels"]:
            width = panel["width"] * 2
            if left + width > _COLUMNS:
                top, left, height = top + height, 0, 0
            place = {"h": _HEIGHTS[panel["kind"]], "w": width, "x": left, "y": top}
            asked = {"interval": source["interval"]} if "interval" in source else {}
            panels.append({"id": len(panels) + 1, "gridPos": place, **asked, **_grafana_panel(panel)})
            left += width
            height = max(height, place["h"])
        top += height
    named = {"uid": source["uid"], "title": source["title"], **_GRAFANA["dashboard"]}
    return {**named, "refresh": source.get("refresh", named["refresh"]), "panels": panels}


def _grafana_panel(panel: dict[str, Any]) -> dict[str, Any]:
    kind = panel["kind"]
    instant = kind in {"stat", "table"}
    targets = [
        {
            "refId": letter,
            "datasource": _DATA_SOURCE,
            "editorMode": "code",
            "expr": query["expr"],
            "format": "table" if kind == "table" else "time_series",
            "instant": instant,
            "range": not instant,
            "legendFormat": query.get("legend", "__auto"),
        }
        for letter, query in _letters(panel["queries"])
    ]
    description, phases = " ".join(panel["says"].split()), panel.get("data", {}).get("phases")
    if phases is not None:
        # So that an empty one is no alarm.
        description += f" Has data in phase {' and '.join(phases)}; elsewhere it may be empty."
    described: dict[str, Any] = {
        "title": panel["title"],
        "description": description,
        "datasource": _DATA_SOURCE,
        "targets": targets,
        "fieldConfig": {"defaults": _defaults(panel), "overrides": _column_units(panel) if kind == "table" else []},
        **_GRAFANA["panels"][kind],
    }
    return {**described, "transformations": _transformations(panel)} if kind == "table" else described


def _defaults(panel: dict[str, Any]) -> dict[str, Any]:
    shown = panel.get("values", {})
    values = {value: {"index": index, **style} for index, (value, style) in enumerate(shown.items()) if value != "null"}
    mappings: list[dict[str, Any]] = [{"type": "value", "options": values}] if values else []
    if "null" in shown:
        mappings.append(
            {"type": "special", "options": {"match": "null+nan", "result": {"index": len(shown), **shown["null"]}}}
        )
    first, *others = panel.get("thresholds", [{"color": "green", "value": 0}])
    steps = [
        {"color": first["color"], "value": None},
        *({"color": step["color"], "value": step["value"]} for step in others),
    ]
    defaults: dict[str, Any] = {
        "unit": panel.get("unit", "short"),
        "mappings": mappings,
        "thresholds": {"mode": "absolute", "steps": steps},
        "color": {"mode": "palette-classic" if panel["kind"] == "graph" else "thresholds"},
    }
    if "null" in shown:
        defaults["noValue"] = shown["null"]["text"]
    defaults |= _GRAFANA["defaults"].get(panel["kind"], {})
    return {**defaults, "max": panel["max"]} if "max" in panel else defaults


def _column_units(panel: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "matcher": {"id": "byName", "options": query["column"]},
            "properties": [{"id": "unit", "value": query["unit"]}],
        }
        for query in panel["queries"]
        if "unit" in query
    ]


def _transformations(panel: dict[str, Any]) -> list[dict[str, Any]]:
    single = len(panel["queries"]) == 1
    names = dict(panel["labels"])
    hidden = {"Time": True}
    for letter, query in _letters(panel["queries"]):
        value = "Value" if single else f"Value #{letter}"
        if "column" in query:
            names[value] = query["column"]
        else:
            hidden[value] = True
    order = {name: index for index, name in enumerate(names)}
    organize = {"id": "organize", "options": {"excludeByName": hidden, "indexByName": order, "renameByName": names}}
    return [organize] if single else [{"id": "merge", "options": {}}, organize]


def files() -> dict[pathlib.Path, str]:
    """Return what is to be written, by file."""
    source, fleet = (yaml.safe_load(place.read_text(encoding="utf-8")) for place in (SOURCE, FLEET_SOURCE))
    return {
        CONSOLE: source["head"] + _block(console(source)),
        GRAFANA: json.dumps(grafana(source), indent=2) + "\n",
        FLEET: fleet["head"] + _block(grafana(fleet)),
    }


def _block(dashboard: dict[str, Any]) -> str:
    return "".join(f"    {line}\n" for line in json.dumps(dashboard, indent=2).splitlines())
