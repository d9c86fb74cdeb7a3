"""`accept` against others who write, answers that are lost, and an operator that takes it up, or does not."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from topology_api import vocabulary
from topology_api.types import Accepted
from topology_controller.kube import errors as kube
from topology_controller.plugin import cluster, errors
from topology_controller.plugin.commands import accept

from ..core import worlds
from . import replies
from .test_accept_or_refuse import DEADLINE, ROUTER, converging, recorded

if TYPE_CHECKING:
    from topology_controller.kube import resource as resources
    from topology_controller.observe import facts

NAMESPACE = "openshift-topology-operator"
ACCEPTED = (Accepted(name=ROUTER, message="one", reason="enough", accepted_time=DEADLINE),)

pytestmark = pytest.mark.looptime


class Client:
    """Serves the ConfigMap, and Infrastructure with the record; `meets` is what the next patches meet."""

    request_timeout = 10.0

    def __init__(self, *meets: type[kube.KubeError]) -> None:
        self.config_map: dict[str, Any] = {"metadata": {"resourceVersion": "7"}, "data": {"ConsoleReplicas": "{}"}}
        self.known = converging(DEADLINE)
        self.meets = list(meets)
        self.patches: list[Any] = []
        self.missing = False

    async def get(self, resource: resources.Resource, name: str, *, namespace: str | None = None) -> dict[str, Any]:
        if resource.plural == "configmaps":
            if self.missing:
                raise kube.NotFound("get", resource, namespace, name, 404, "NotFound", "")
            assert (name, namespace) == (vocabulary.ACCEPTED_CHECKS, NAMESPACE)
            return copy.deepcopy(self.config_map)
        record = recorded(self.known).model_dump(mode="json", by_alias=True, exclude_none=True)
        return {"kind": "Infrastructure", "metadata": {"name": name}, "status": {"topologyTransition": record}}

    async def merge_patch(
        self, resource: resources.Resource, name: str, body: dict[str, Any], *, namespace: str | None = None
    ) -> dict[str, Any]:
        if self.meets:
            self.config_map["metadata"]["resourceVersion"] += "0"
            raise self.meets.pop(0)("patch", resource, namespace, name, 409, "Refused", "not now")
        assert body["metadata"] == {"resourceVersion": self.config_map["metadata"]["resourceVersion"]}
        self.patches.append(body["data"])
        return self.config_map


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[facts.Facts]:
    """What is read of the cluster, one after the other; the last one again and again."""
    known = [converging(DEADLINE)]

    async def head(*_: object) -> cluster.Snapshot:
        return replies.seen(known.pop(0) if len(known) > 1 else known[0], DEADLINE)

    monkeypatch.setattr(cluster, "head", head)
    return known


async def accepted(client: Client) -> tuple[accept.Ended, cluster.Connection]:
    connection = cluster.Connection(client, "https://api.example.com:6443")  # type: ignore[arg-type] # what is used
    connection.interruption.begin("accept")

    async def consent(_: accept.Offer) -> None:
        return None

    asked = accept.Asked(ROUTER, "enough", 30.0)
    return await accept.accept(connection, worlds.TRANSITIONS, NAMESPACE, asked, consent), connection


@pytest.mark.usefixtures("reads")
async def test_what_others_have_asked_for_stays_and_the_operator_is_waited_for(looptime: Any) -> None:
    client = Client()
    ended, connection = await accepted(client)
    (data,) = client.patches
    assert {check: json.loads(value) for check, value in data.items()} == {
        ROUTER: {"attempt": "mine", "reason": "enough"}
    }
    assert ended.code == errors.ExitCode.TIMED_OUT
    assert ended.message.startswith("RouterReplicas is not recorded as accepted after 30 s; the request stands")
    assert connection.interruption.text.startswith("the request stands")
    assert looptime == 30.0


@pytest.mark.usefixtures("reads")
async def test_it_is_done_once_the_operator_has_recorded_it(looptime: Any) -> None:
    client = Client()
    client.known = converging(DEADLINE, accepted=ACCEPTED)
    ended, _ = await accepted(client)
    assert ended.code == errors.ExitCode.DONE
    assert ended.message.startswith("RouterReplicas was accepted at 2026-03-01T14:00:00Z")
    assert looptime == 0.1


async def test_it_is_judged_again_when_somebody_else_writes_in_between(reads: list[facts.Facts]) -> None:
    client = Client(kube.Conflict)
    client.known = converging(DEADLINE, accepted=ACCEPTED)
    assert (await accepted(client))[0].code == errors.ExitCode.DONE
    assert len(client.patches) == 1
    # Shown, judged before the first write, and judged again after the conflict.
    reads[:] = [converging(DEADLINE), converging(DEADLINE), converging(DEADLINE, attempt="another")]
    client = Client(kube.Conflict)
    ended, connection = await accepted(client)
    assert ended.code == errors.ExitCode.BLOCKED
    assert "another attempt is under way" in ended.message
    assert client.patches == []
    assert "nothing was accepted" in connection.interruption.text


@pytest.mark.usefixtures("reads")
async def test_whoever_writes_again_and_again_ends_it() -> None:
    client = Client(*[kube.Conflict] * 3)
    told = "ConfigMap topology-accepted-checks was changed 3 times between reading and writing. Nothing was written"
    with pytest.raises(errors.PluginError, match=told):
        await accepted(client)
    assert client.patches == []


@pytest.mark.usefixtures("reads")
async def test_after_an_answer_that_was_lost_the_record_decides() -> None:
    client = Client(kube.TimedOut)
    client.known = converging(DEADLINE, accepted=ACCEPTED)
    assert (await accepted(client))[0].code == errors.ExitCode.DONE
    ended, connection = await accepted(Client(kube.TimedOut))
    assert ended.code == errors.ExitCode.TIMED_OUT
    assert connection.interruption.text.startswith("whether the request was written is not known")


@pytest.mark.usefixtures("reads")
async def test_a_right_and_a_config_map_that_lack_are_named() -> None:
    with pytest.raises(errors.PluginError, match=r"and nothing was written\. Role topology-check-acceptor grants it"):
        await accepted(Client(kube.Forbidden))
    client = Client()
    client.missing = True
    with pytest.raises(errors.PluginError, match=r"does not exist, and nothing was written\. It comes with"):
        await accepted(client)
