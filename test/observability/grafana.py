"""The shape of a Grafana dashboard, as far as ours uses it, strict: an unknown or misspelt field is an error.

Grafana itself forgives: a field that it does not know is dropped, and the panel looks other than it was meant. Source:
grafana/grafana, kinds/dashboard/dashboard_kind.cue, and the options of each panel type beside its code.
"""

# ruff: noqa: N815 - the names are those of Grafana

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Calculation = Literal["lastNotNull", "last", "mean", "max", "min", "sum"]
Mode = Literal["single", "multi", "none"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class DataSource(_Part):
    """Where a query goes; here always what is chosen at the top."""

    type: Literal["prometheus"]
    uid: Literal["${datasource}"]


class GridPos(_Part):
    """Where a panel lies, in 24 columns."""

    h: Annotated[int, Field(gt=0)]
    w: Annotated[int, Field(gt=0, le=24)]
    x: Annotated[int, Field(ge=0, lt=24)]
    y: Annotated[int, Field(ge=0)]


class Target(_Part):
    """A query of the data source Prometheus."""

    refId: Annotated[str, Field(pattern="^[A-Z]$")]
    datasource: DataSource
    editorMode: Literal["code", "builder"]
    expr: Annotated[str, Field(min_length=1)]
    format: Literal["time_series", "table", "heatmap"]
    instant: bool
    range: bool
    legendFormat: str


class Result(_Part):
    """What is shown for a value."""

    text: str
    color: str
    index: int


class ValueMap(_Part):
    """Texts of values."""

    type: Literal["value"]
    options: dict[str, Result]


class Special(_Part):
    """The text of what is no number."""

    match: Literal["true", "false", "null", "nan", "null+nan", "empty"]
    result: Result


class SpecialMap(_Part):
    """The same as a mapping."""

    type: Literal["special"]
    options: Special


class Step(_Part):
    """A colour from a value on; the first has none."""

    color: str
    value: int | None


class Thresholds(_Part):
    """Colours."""

    mode: Literal["absolute", "percentage"]
    steps: Annotated[list[Step], Field(min_length=1)]


class Color(_Part):
    """Where a series has its colour from."""

    mode: Literal["thresholds", "palette-classic", "fixed"]


class Stacking(_Part):
    """Whether lines stand on each other."""

    group: str
    mode: Literal["none", "normal", "percent"]


class Lines(_Part):
    """How a time series is drawn."""

    drawStyle: Literal["line", "bars", "points"]
    fillOpacity: Annotated[int, Field(ge=0, le=100)]
    lineInterpolation: Literal["linear", "smooth", "stepBefore", "stepAfter"]
    lineWidth: Annotated[int, Field(ge=0, le=10)]
    showPoints: Literal["auto", "always", "never"]
    spanNulls: bool
    stacking: Stacking


class Bars(_Part):
    """How states over time are drawn."""

    fillOpacity: Annotated[int, Field(ge=0, le=100)]
    lineWidth: Annotated[int, Field(ge=0, le=10)]


class Defaults(_Part):
    """Of every field of a panel."""

    unit: str
    mappings: list[ValueMap | SpecialMap]
    thresholds: Thresholds
    color: Color
    custom: Lines | Bars | None = None
    noValue: str | None = None
    min: int | None = None
    max: int | None = None


class Matcher(_Part):
    """Which fields an override is for."""

    id: Literal["byName"]
    options: str


class Property(_Part):
    """What it sets."""

    id: Literal["unit"]
    value: str


class Override(_Part):
    """Of some fields of a panel."""

    matcher: Matcher
    properties: list[Property]


class FieldConfig(_Part):
    """Defaults and what differs from them."""

    defaults: Defaults
    overrides: list[Override]


class Legend(_Part):
    """Of a graph."""

    calcs: list[Calculation]
    displayMode: Literal["list", "table", "hidden"]
    placement: Literal["bottom", "right"]
    showLegend: bool


class Tooltip(_Part):
    """Of a graph."""

    mode: Mode
    sort: Literal["none", "asc", "desc"]


class Reduce(_Part):
    """One number of many."""

    calcs: list[Calculation]
    fields: str
    values: bool


class StatOptions(_Part):
    """Of a number."""

    colorMode: Literal["none", "value", "background"]
    graphMode: Literal["none", "area"]
    justifyMode: Literal["auto", "center"]
    orientation: Literal["auto", "horizontal", "vertical"]
    reduceOptions: Reduce
    textMode: Literal["auto", "value", "value_and_name", "name", "none"]
    wideLayout: bool


class Footer(_Part):
    """Of a table."""

    countRows: bool
    fields: str
    reducer: list[Calculation]
    show: bool


class TableOptions(_Part):
    """Of a table."""

    cellHeight: Literal["sm", "md", "lg"]
    footer: Footer
    showHeader: bool


class TimelineOptions(_Part):
    """Of states over time."""

    alignValue: Literal["left", "center", "right"]
    legend: Legend
    mergeValues: bool
    rowHeight: Annotated[float, Field(gt=0, le=1)]
    showValue: Literal["auto", "always", "never"]
    tooltip: Tooltip


class SeriesOptions(_Part):
    """Of lines over time."""

    legend: Legend
    tooltip: Tooltip


class Organize(_Part):
    """Names, order and what is left out of a table."""

    excludeByName: dict[str, Literal[True]]
    indexByName: dict[str, int]
    renameByName: dict[str, str]


class Organized(_Part):
    """The transformation of that name."""

    id: Literal["organize"]
    options: Organize


class Merged(_Part):
    """Several queries, one table."""

    id: Literal["merge"]
    options: Annotated[dict[str, Any], Field(max_length=0)]


class _Panel(_Part):
    id: Annotated[int, Field(gt=0)]
    gridPos: GridPos
    title: Annotated[str, Field(min_length=1)]
    description: Annotated[str, Field(min_length=1)]
    datasource: DataSource
    interval: Annotated[str, Field(pattern=r"^\d+[smh]$")] | None = None
    targets: Annotated[list[Target], Field(min_length=1)]
    fieldConfig: FieldConfig


class Stat(_Panel):
    """A number."""

    type: Literal["stat"]
    options: StatOptions


class Table(_Panel):
    """A table."""

    type: Literal["table"]
    options: TableOptions
    transformations: list[Merged | Organized]


class Timeline(_Panel):
    """States over time."""

    type: Literal["state-timeline"]
    options: TimelineOptions


class Series(_Panel):
    """Lines over time."""

    type: Literal["timeseries"]
    options: SeriesOptions


class Row(_Part):
    """A heading."""

    type: Literal["row"]
    title: str
    collapsed: bool
    gridPos: GridPos
    id: int
    panels: Annotated[list[Any], Field(max_length=0)]


class Variable(_Part):
    """The choice of a data source."""

    type: Literal["datasource"]
    name: Literal["datasource"]
    label: str
    query: Literal["prometheus"]
    current: dict[str, Any]
    hide: Literal[0, 1, 2]
    includeAll: bool
    multi: bool
    options: list[Any]
    refresh: int
    regex: str
    skipUrlSync: bool


class Templating(_Part):
    """What is chosen at the top."""

    entries: Annotated[list[Variable], Field(alias="list")]


class Annotations(_Part):
    """None of ours."""

    entries: Annotated[list[Any], Field(alias="list")]


class Time(_Part):
    """What is shown at first."""

    from_: Annotated[str, Field(alias="from")]
    to: str


class Dashboard(_Part):
    """All of it."""

    uid: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{8,40}$")]
    title: str
    tags: list[str]
    schemaVersion: Annotated[int, Field(ge=36)]
    version: int
    editable: bool
    graphTooltip: Literal[0, 1, 2]
    fiscalYearStartMonth: Annotated[int, Field(ge=0, lt=12)]
    liveNow: bool
    weekStart: str
    timezone: str
    refresh: str
    time: Time
    timepicker: dict[str, Any]
    links: list[Any]
    annotations: Annotations
    templating: Templating
    panels: list[Annotated[Row | Stat | Table | Timeline | Series, Field(discriminator="type")]]
