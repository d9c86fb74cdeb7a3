"""From an empty cluster and back, on a real API server: what an administrator does, with what the pages say.

Patch the definition, apply what is printed, run the operator as its ServiceAccount with the rights of the manifests and
no others, ask for a topology, Completed, uninstall: line by line as docs/operations.md has it. Before and after,
everything that the server holds is listed, of every kind that it serves.

Namespaces are emptied and dependents collected by Kubernetes' own controllers. No pod is started: the operator is a
process, and the test stops that when the Deployment is scaled to 0.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import polling, processes
from test.component import documented, installing, inventory, payload, process, reactors
from topology_api import crd
from topology_simulator import client as clients
from topology_simulator import kinds, kubeconfig, machine_api, serving

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Callable, Iterator

    from test.component.installing import Administrator, Empty

NAMESPACE, NAME = installing.NAMESPACE, installing.NAME
_SECONDS = 30.0
TAKEN = re.compile(r" (?:created|configured|unchanged)(?: \(server dry run\))?$", re.MULTILINE)
FOLLOWERS = {reactors.Echo.agent, reactors.Operands.agent}
"""Those who follow a new topology in the simulated cluster: what they make of it stays."""


@pytest.fixture(scope="module")
def empty(real_binaries: None) -> Iterator[Empty]:
    with installing.Empty() as session:
        yield session


@pytest.fixture
def administrator(empty: Empty, tmp_path: pathlib.Path) -> Administrator:
    return installing.Administrator(empty.server.kubeconfig(), tmp_path)


@pytest.fixture
async def api(empty: Empty) -> AsyncIterator[clients.Client]:
    async with clients.Client(empty.access(), "administrator") as made:
        yield made


@pytest.fixture
async def held(empty: Empty) -> AsyncIterator[inventory.Inventory]:
    async with inventory.Inventory(empty.server) as made:
        yield made


def objects(text: str) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(text) if one]


def document(one: dict[str, Any]) -> str:
    return yaml.safe_dump(one, sort_keys=False)


async def _made(administrator: Administrator, printed: str) -> dict[str, Any]:
    """Make the namespace alone, which the rest needs before it can be judged."""
    namespace = objects(printed)[0]
    assert namespace["kind"] == "Namespace"
    await administrator.oc("apply", "-f", "-", given=document(namespace))
    return namespace


async def _unmade(administrator: Administrator, namespace: dict[str, Any]) -> None:
    await administrator.oc("delete", "-f", "-", given=document(namespace))


@pytest.mark.nightly
async def test_the_server_judges_every_object_before_anything_is_made(
    administrator: Administrator, held: inventory.Inventory
) -> None:
    """kubectl validates strictly, then the server judges: types, CEL of policies, definitions of custom kinds."""
    printed = await administrator.prints()
    namespace = await _made(administrator, printed)
    before = set(await held.settled())
    said = await administrator.oc("apply", "--dry-run=server", "-f", "-", given=printed)
    judged = TAKEN.findall(said)
    assert len(judged) == len(objects(printed)), said
    assert said.count("(server dry run)") == len(judged)
    assert set(await held.all()) == before
    await _unmade(administrator, namespace)


@pytest.mark.nightly
async def test_the_version_operator_finds_nothing_to_write_again(
    administrator: Administrator, held: inventory.Inventory
) -> None:
    """What is made of every manifest is what we wrote; where all is compared, nothing is added either."""
    printed = await administrator.prints()
    before = set(await held.settled())
    await administrator.oc("create", "-f", "-", given=printed)
    read = json.loads(await administrator.oc("get", "-f", "-", "-o", "json", given=printed))["items"]
    wanted = objects(printed)
    assert [one["metadata"]["name"] for one in read] == [one["metadata"]["name"] for one in wanted]
    told = [text for ours, found in zip(wanted, read, strict=True) for text in payload.differences(ours, found)]
    assert not told, told
    await administrator.oc("delete", "--ignore-not-found", "-f", "-", given=printed)
    assert not set(await held.settled()) - before


async def test_where_the_machine_api_is_disabled_its_rights_are_left_out(
    administrator: Administrator, api: clients.Client, held: inventory.Inventory
) -> None:
    """A role in a namespace that is not there is refused; with the flag everything is taken, and can be deleted."""
    await installing.without_namespace(api, machine_api.NAMESPACE)
    before = set(await held.settled())
    try:
        said = await administrator.tries("kubectl", "apply", "-f", "-", given=await administrator.prints())
        assert said.code == 1, said.printed
        assert f'namespaces "{machine_api.NAMESPACE}" not found' in said.complaint
        printed = await administrator.prints("--without-machine-api")
        said = await administrator.tries("kubectl", "apply", "-f", "-", given=printed)
        assert (said.code, said.complaint) == (0, ""), "not even a warning"
        assert len(TAKEN.findall(said.printed)) == len(objects(printed))
        await administrator.oc("delete", "--ignore-not-found", "-f", "-", given=printed)
        assert not set(await held.settled()) - before
    finally:
        await api.create(kinds.NAMESPACES, kinds.NAMESPACES.new(machine_api.NAMESPACE))


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("ValidatingAdmissionPolicy", "spec.matchConstraints.matchPolicy"),
        ("ValidatingAdmissionPolicy", "spec.matchConstraints.namespaceSelector"),
        ("ValidatingAdmissionPolicy", "spec.matchConstraints.objectSelector"),
        ("ValidatingAdmissionPolicy", "spec.failurePolicy"),
        ("NetworkPolicy", "spec.policyTypes"),
    ],
)
async def test_a_default_that_is_left_out_is_found(administrator: Administrator, kind: str, path: str) -> None:
    one = next(one for one in objects(await administrator.prints()) if one["kind"] == kind)
    one["metadata"].pop("namespace", None)  # our own is not there, and any will do
    *way, last = path.split(".")
    holder: Any = one
    for part in way:
        holder = holder[int(part) if part.isdecimal() else part]
    del holder[last]
    made = await administrator.oc("create", "--dry-run=server", "-o", "json", "-f", "-", given=document(one))
    found = payload.differences(one, json.loads(made))
    assert [text for text in found if text.endswith(f".{last} is added")], found


def pod_of(printed: str, *, users_of_its_own: bool = True) -> dict[str, Any]:
    """The pod that the Deployment would start; without user namespaces, as a cluster has it that knows none."""
    (deployment,) = [one for one in objects(printed) if one["kind"] == "Deployment"]
    template = copy.deepcopy(deployment["spec"]["template"])
    if not users_of_its_own:
        del template["spec"]["hostUsers"]
    meta = {**template["metadata"], "name": "trial", "namespace": deployment["metadata"]["namespace"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}


LINES = (
    ("runAsNonRoot", "spec"),
    ("seccompProfile", "spec"),
    ("allowPrivilegeEscalation", "container"),
    ("capabilities", "container"),
)


@pytest.mark.usefixtures("held")
async def test_the_namespace_takes_our_pod_and_none_that_is_less_restricted(administrator: Administrator) -> None:
    """In a user namespace a server may forgo one of the lines; ours are all there for those that do not."""
    printed = await administrator.prints()
    namespace = await _made(administrator, printed)
    create = ("create", "--dry-run=server", "-f", "-")
    for users in (True, False):
        said = await administrator.tries("kubectl", *create, given=document(pod_of(printed, users_of_its_own=users)))
        assert (said.code, said.complaint) == (0, ""), "not even a warning"
    for line, where in LINES:
        pod = pod_of(printed, users_of_its_own=False)
        context = pod["spec"] if where == "spec" else pod["spec"]["containers"][0]
        del context["securityContext"][line]
        said = await administrator.tries("kubectl", *create, given=document(pod))
        assert said.code == 1, f"without {line} it is taken"
        assert 'violates PodSecurity "restricted' in said.complaint, said.complaint
        assert line in said.complaint, said.complaint
    unknown = pod_of(printed)
    unknown["spec"]["priorityClassName"] = "no-such-class"
    said = await administrator.tries("kubectl", *create, given=document(unknown))
    assert said.code == 1, "the priority class is looked up"
    await _unmade(administrator, namespace)


def _arguments(printed: str, folder: pathlib.Path, certificates: pathlib.Path) -> list[str]:
    """The arguments of the Deployment, with what is mounted in its pod put into a folder, and on a free port."""
    pod = pod_of(printed)["spec"]
    (container,) = pod["containers"]
    volumes = {one["name"]: one for one in pod["volumes"]}
    given = {one["metadata"]["name"]: one.get("data") or {} for one in objects(printed) if one["kind"] == "ConfigMap"}
    replaced = {"--bind-address=:8443": "--bind-address=127.0.0.1:0", "$(POD_NAMESPACE)": NAMESPACE}
    replaced["--page-address=127.0.0.1:8080"] = "--page-address=127.0.0.1:0"
    for mount in container["volumeMounts"]:
        volume, place = volumes[mount["name"]], folder / "mounted" / mount["name"]
        if "secret" in volume:
            place = certificates
        else:
            place.mkdir(parents=True)
            for name, text in given[volume["configMap"]["name"]].items():
                (place / name).write_text(text)
        replaced[mount["mountPath"]] = str(place)
    text = "\n".join(container["args"])
    for old, new in replaced.items():
        assert old in text, old
        text = text.replace(old, new)
    return text.split("\n")


@contextlib.asynccontextmanager
async def _running(
    administrator: Administrator, empty: Empty, printed: str, token: str
) -> AsyncIterator[process.Operator]:
    """Run the program as the Deployment's pod does: its arguments, the token of its account, and no other right."""
    folder = administrator.folder
    (folder / "operator.kubeconfig").write_text(yaml.safe_dump(empty.server.kubeconfig(token)))
    served = serving.Serving(folder / "tls", empty.server.client_authority)
    log = folder / "operator.log"
    # What a test needs besides: where the API server is, and no patience.
    flags = ["--kubeconfig", str(folder / "operator.kubeconfig"), "--settle-seconds", "0", *process.LEASE]
    started = await processes.logged(
        *administrator.program, *_arguments(printed, folder, served.certificates), *flags, log=log, cwd="/",
        env={"PATH": os.defpath, "PYTHONUNBUFFERED": "1", "POD_NAME": "operator", "POD_NAMESPACE": NAMESPACE},
    )  # fmt: skip
    operator = process.Operator("operator", log, started, served.scraper().tls())
    try:
        await operator.ready(_SECONDS)

        async def let_in() -> bool:
            code, text = await operator.ask("/metrics")
            return (code, "topology_info" in text) == (200, True)

        await polling.until("Prometheus comes in by its certificate", let_in)
        yield operator
    finally:
        await operator.kill()
    assert not operator.complaints(), operator.tail()


async def _until(api: clients.Client, phase: str, operator: process.Operator) -> dict[str, Any]:
    async def there() -> dict[str, Any] | None:
        found = await api.get(kinds.INFRASTRUCTURES, "cluster")
        record = found["status"].get("topologyTransition") or {}
        return found if record.get("phase") == phase else None

    try:
        return await polling.until(f"phase {phase}", there, _SECONDS)
    except AssertionError as error:
        found = await api.get(kinds.INFRASTRUCTURES, "cluster")
        raise AssertionError(f"{error}\n{yaml.safe_dump(found['status'])}\n{operator.tail()}") from None


def _looking() -> list[documented.Command]:
    """The commands by which the section looks whether something is left."""
    leaving = installing.uninstalling()
    lines = installing.PAGE.read_text().splitlines()
    last = next(number for number, line in enumerate(lines, 1) if number > leaving[-1].line and line.startswith("## "))
    return [one for one in documented.of(installing.PAGE) if leaving[-1].line < one.line < last]


async def _leave(administrator: Administrator, operator: process.Operator) -> None:
    for command in installing.uninstalling():
        await administrator.types(command.text)
        if " scale " in command.text:
            assert await operator.stop() == 0, operator.tail()


async def test_from_an_empty_cluster_and_back(
    empty: Empty,
    administrator: Administrator,
    api: clients.Client,
    held: inventory.Inventory,
    figure: Callable[[str], None],
) -> None:
    before = await held.settled()
    infrastructure = await api.get(kinds.INFRASTRUCTURES, "cluster")
    definition = await api.get(kinds.DEFINITIONS, crd.NAME)
    version = await api.get(kinds.CLUSTER_VERSIONS, "version")
    audit = empty.server.audit()

    *fields, apply, ask, wait = installing.converting()
    for command in fields:
        await administrator.types(command.text)
    printed = await administrator.prints("--image", "REGISTRY/cluster-topology-operator:0.1.0")
    said = await administrator.types(apply.text)
    assert len(TAKEN.findall(said)) == len(objects(printed)), said
    token = (await administrator.oc("create", "token", NAME, "-n", NAMESPACE)).strip()
    installed = await held.all()
    async with (
        reactors.living(kubeconfig.access(empty.server.kubeconfig(), administrator.folder)) as (_, operands),
        _running(administrator, empty, printed, token) as operator,
    ):
        await _until(api, "Idle", operator)
        await administrator.types(ask.text)
        await _until(api, "Completed", operator)
        await administrator.types(wait.text)
        await operands.followed("HighlyAvailable", "HighlyAvailable")
        found = await api.get(kinds.CLUSTER_OPERATORS, "topology")
        (wanted,) = [one for one in objects(printed) if one["kind"] == "ClusterOperator"]
        assert found["status"]["versions"] == wanted["status"]["versions"], "what the version operator waits for"
        assert found["status"]["relatedObjects"] == wanted["status"]["relatedObjects"]
        await _leave(administrator, operator)

    for command in _looking():
        assert not (await administrator.oc(*command.arguments)).strip(), f"something is left: {command.text}"
    after = await held.settled()
    ours = set(installed) - set(before)
    assert len(ours) >= len(objects(printed))
    assert not ours & set(after), sorted(map(str, ours & set(after)))
    left = {one: meta for one, meta in after.items() if one not in before}
    others = {one for one, meta in left.items() if {field["manager"] for field in meta["managedFields"]} <= FOLLOWERS}
    events = {one for one in left if one.kind.partition(".")[0] == "events" and one.namespace == "default"}
    assert events, "the story was told"
    assert not set(left) - others - events, sorted(map(str, set(left) - others - events))
    assert not set(before) - set(after), "and nothing of others is gone"
    written = inventory.written_by(NAME, after)
    assert {str(one) for one in written if one not in events} <= {"infrastructures.config.openshift.io/cluster"}

    now = await api.get(kinds.INFRASTRUCTURES, "cluster")
    grown = {"controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable"}
    assert now["spec"] == infrastructure["spec"]
    assert now["status"] == {**infrastructure["status"], **grown}, "the topology stays, and nothing else"
    assert (await api.get(kinds.DEFINITIONS, crd.NAME))["spec"] == definition["spec"]
    assert (await api.get(kinds.CLUSTER_VERSIONS, "version"))["spec"] == version["spec"]

    asked = [one for one in audit.read() if one.user == f"system:serviceaccount:{NAMESPACE}:{NAME}"]
    refused = [one for one in asked if not one.allowed or one.code in {401, 403}]
    assert len(asked) > 50
    assert not refused, [f"{one.verb} {one.uri}: {one.code}" for one in refused]
    figure(
        f"{len(objects(printed))} objects applied; {len(asked)} requests by the operator, none refused; {len(before)} "
        f"objects before, {len(after)} after: {len(events)} more are events, {len(others)} made by others that followed"
    )


def test_the_page_takes_everything_away_that_is_printed() -> None:
    """Whatever is added to what is printed is deleted by the same command, so no list has to be kept."""
    texts = [one.text for one in installing.uninstalling()]
    assert f"{NAME} manifests | oc delete --ignore-not-found -f -" in texts
    assert len(_looking()) >= 4
