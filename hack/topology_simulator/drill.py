"""A drill for who is on call: an alert fires in a cluster in a box, and nothing but the person ends it.

A scenario of `drills` makes the trouble; then the screen has what a pager has, and a way into the cluster. The alert's
own rule (`alerts`) judges, before and after. `cure` of a scenario has the sentence of docs/runbooks that leads to it.
"""

import asyncio
import contextlib
import dataclasses
import pathlib
import sys
import tempfile
import textwrap
from collections.abc import AsyncIterator

from topology_simulator import SimulatorError

from . import alerts, box, client, demo, fleet_hub, kinds, levers, own_objects, pace, play, probes, scenario, terminal
from . import opened as parts
from .actors import kubelets

FOLDER = pathlib.Path(__file__).parent / "drills"
_SCRAPE_SECONDS = 1.0
_LOOK_SECONDS = 0.5
PACE = dataclasses.replace(pace.DEMO.scaled(0.05), heartbeat=5.0, lease_renew=5.0, retry=0.2, inertia=120.0)
"""The person sees the trouble, not how it comes about."""


def names() -> list[str]:
    """Return the alerts that can be rehearsed."""
    return [alert.name for alert in alerts.all_alerts()]


def listed() -> str:
    """Return the list for the screen."""
    rows = [f"  {alert.name:<30} {alert.severity:<8} {alert.summary}" for alert in alerts.all_alerts()]
    return "\n".join(("make drill ALERT=NAME rehearses one of these alerts, until you have ended it:", *rows))


def find(name: str) -> tuple[alerts.Alert, scenario.Scenario]:
    """Return an alert and its scenario. Raises ScenarioError."""
    for alert in alerts.all_alerts():
        if alert.name == name:
            return alert, scenario.load(str(FOLDER / f"{name}.yaml"))
    raise scenario.ScenarioError(f"no alert {name!r}\n{listed()}")


class Drill:
    """One drill that is open. `fires` judges; `cure` waits until it does not fire any more."""

    def __init__(self, alert: alerts.Alert, opened: box.Box, fleet: fleet_hub.Hub | None) -> None:
        self.alert = alert
        self.box = opened
        self._hub = fleet

    async def fires(self) -> alerts.Firing | None:
        """Return the alert as the pager shows it, None when it does not fire. Raises SimulatorError."""
        metrics = await self._scraped() + alerts.reported(await self.box.api.find(kinds.CLUSTER_OPERATORS, "topology"))
        collected = await self._hub.collected() if self._hub is not None else ()
        return await alerts.firing(self.alert, metrics, box.CONTEXT, collected)

    async def until_firing(self, seconds: float) -> alerts.Firing:
        """Wait until it fires. Raises SimulatorError."""
        end = asyncio.get_running_loop().time() + seconds
        while (firing := await self.fires()) is None:
            if asyncio.get_running_loop().time() > end:
                raise SimulatorError(f"{self.alert.name} does not fire after {seconds:g} s")
            await asyncio.sleep(_LOOK_SECONDS)
        return firing

    async def until_cured(self) -> None:
        """Wait until it does not fire any more."""
        while await self.fires() is not None:  # noqa: ASYNC110 - no event says so
            await asyncio.sleep(_LOOK_SECONDS)

    async def _scraped(self) -> str:
        """Return the operator's metrics, empty where none answers in time."""
        if self.box.operator is None:
            return ""
        try:
            return await probes.scraped(self.box.operator.url, seconds=_SCRAPE_SECONDS)
        except client.ClientError:
            return ""


@contextlib.asynccontextmanager
async def opened(
    alert: alerts.Alert, played: scenario.Scenario, folder: pathlib.Path, apiserver: str = "embedded"
) -> AsyncIterator[Drill]:
    """Open a box in which the trouble is there, and let nothing repair it. Raises what `box.opened` and `play` do.

    Its kubeconfig in `folder` has the hub, too, where the alert is one of a fleet.
    """
    alerts.binary()
    rehearsed = played.drill or scenario.Drill()
    async with contextlib.AsyncExitStack() as stack:
        opened_box = await stack.enter_async_context(
            box.opened(played, PACE, folder, apiserver=rehearsed.apiserver or apiserver, manifests=True)
        )
        fleet = None
        if alert.of_fleet:
            fleet = await stack.enter_async_context(fleet_hub.opened(opened_box, collects=rehearsed.hub_collects))
        living = []
        if opened_box.operator is not None:
            living.append(own_objects.OwnPod(opened_box.api, opened_box.operator, lambda _: None).run())
        if rehearsed.waiting:
            living.append(kubelets.Bootstrap(opened_box.api, rehearsed.waiting, PACE).run())
        await stack.enter_async_context(parts.running(box.first_of(*living)))
        player = play.Player(opened_box.api, opened_box.actors, PACE, lambda _: None, operator=opened_box.operator)
        await player.play(played, to_the_end=False)
        yield Drill(alert, opened_box, fleet)


async def run(name: str, apiserver: str = "embedded") -> int:
    """Rehearse one alert on this terminal; 0 when the person has ended it. Raises ScenarioError."""
    screen = terminal.Terminal(sys.stdout)
    alert, played = find(name)
    screen.print(f"Setting the scene for {alert.name}; it takes some seconds ...")
    with tempfile.TemporaryDirectory(prefix="topology-drill-") as place:
        folder = pathlib.Path(place)
        try:
            async with opened(alert, played, folder, apiserver) as drill:
                shown = await drill.until_firing(60.0)
                _show(screen, alert, shown, drill.box, folder)
                began = asyncio.get_running_loop().time()
                await drill.until_cured()
                seconds = round(asyncio.get_running_loop().time() - began)
        except (SimulatorError, OSError) as error:
            return demo.failed(screen, error, folder / "operator.log")
    took = f"{seconds // 60} min {seconds % 60} s" if seconds >= 60 else f"{seconds} s"
    screen.print(screen.paint(f"[RESOLVED] {alert.name}. You needed {took}.", "green"))
    return 0


def _show(
    screen: terminal.Terminal, alert: alerts.Alert, shown: alerts.Firing, opened_box: box.Box, folder: pathlib.Path
) -> None:
    screen.print(screen.paint(f"\n[FIRING] {alert.name}", "red"))
    for key, value in shown.labels.items():
        if key != "alertname":
            screen.print(f"  {key}: {value}")
    for key in ("summary", "description"):
        text = " ".join(shown.annotations[key].split())
        lines = textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
        screen.print(f"\n{lines}")
    screen.print("\nIn a second terminal; where there is no oc, kubectl does the same:\n")
    for line in levers.environment(opened_box.kubeconfig):
        screen.print(screen.paint(f"    {line}", "bold"))
    screen.print(
        f"\nOn a cluster this fires after {alert.waits}; here it does not wait. The operator's log is "
        f"{folder / 'operator.log'}.\nThe clock runs, and stops when the alert ends. Ctrl-C gives up."
    )
