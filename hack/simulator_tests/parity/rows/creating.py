"""Creating objects: names, namespaces, bodies that do not fit the path."""

from __future__ import annotations

from simulator_tests.parity import samples as s
from simulator_tests.parity.table import first, get, post, row

_YAML = """\
apiVersion: parity.example.com/v1
kind: Widget
metadata:
  name: one
spec: {size: 2, moment: 2020-01-01T00:00:00Z}
"""
ROWS = (
    row(
        "a created custom resource comes back with its identity",
        post(s.WIDGETS, s.widget(size=3)),
        get(s.WIDGETS + "/one"),
    ),
    row("a created cluster-scoped object has no namespace", post(s.GADGETS, s.gadget(size=1)), namespace=False),
    row("a created config map has no generation", post(s.CONFIG_MAPS, s.config_map(a="1"))),
    row("creating what is there is refused", first(post(s.WIDGETS, s.widget())), post(s.WIDGETS, s.widget())),
    row(
        "creating a built-in object that is there is refused",
        first(post(s.CONFIG_MAPS, s.config_map())),
        post(s.CONFIG_MAPS, s.config_map()),
    ),
    row(
        "a name is generated from its beginning",
        post(s.WIDGETS, {**s.widget(), "metadata": {"generateName": "{row}-gen-"}}),
        post(s.WIDGETS, {**s.widget(), "metadata": {"generateName": "{row}-gen-"}}),
        post(s.CONFIG_MAPS, {**s.config_map(), "metadata": {"generateName": "{row}-gen-"}}),
    ),
    row("a name wins over its beginning", post(s.WIDGETS, s.meta(s.widget(), generateName="other-"))),
    row(
        "an object without a name is refused",
        post(s.WIDGETS, {**s.widget(), "metadata": {}}),
        post(s.CONFIG_MAPS, {**s.config_map(), "metadata": {}}),
        post(s.WIDGETS, {"apiVersion": s.API, "kind": "Widget", "spec": {}}),
    ),
    row(
        "a name must have the form of a DNS subdomain",
        post(s.WIDGETS, s.widget("Not_A_Name")),
        post(s.CONFIG_MAPS, s.config_map("Not_A_Name")),
        post(s.WIDGETS, s.widget("x" * 254)),
        post(s.NAMESPACES, s.namespace("{row}.dotted")),
        post(s.NODES, s.node("UPPER")),
        post(s.CONFIG_MAPS, s.config_map("-a")),
    ),
    row(
        "labels and annotations must have their form",
        post(s.WIDGETS, s.widget(labels={"a b": "c"})),
        post(s.WIDGETS, s.widget(labels={"a": "c d"})),
        post(s.WIDGETS, s.widget(labels={"Bad_Prefix/a": "c"})),
        post(s.CONFIG_MAPS, s.meta(s.config_map(), annotations={"a b": "free text"})),
        post(s.WIDGETS, s.widget(labels={"a": "x" * 64})),
        post(s.NODES, s.node(**{"bad key": "x", "ok": "not ok!"})),
    ),
    row(
        "another apiVersion than the path's is refused",
        post(s.WIDGETS, {**s.widget(), "apiVersion": "parity.example.com/v2"}),
        post(s.CONFIG_MAPS, {**s.config_map(), "apiVersion": "v2"}),
    ),
    row(
        "another kind than the path's is refused",
        post(s.WIDGETS, {**s.widget(), "kind": "Gadget"}),
        post(s.CONFIG_MAPS, {**s.config_map(), "kind": "Secret"}),
        post(s.CONFIG_MAPS, {**s.config_map(), "kind": "Nothing"}),
    ),
    row(
        "a body without kind or apiVersion is completed for built-in kinds only",
        post(s.CONFIG_MAPS, {"metadata": {"name": "bare"}, "data": {"a": "1"}}),
        post(s.WIDGETS, {"metadata": {"name": "bare"}}),
        post(s.WIDGETS, {"kind": "Widget", "metadata": {"name": "bare"}}),
        post(s.WIDGETS, {"apiVersion": s.API, "metadata": {"name": "bare"}}),
    ),
    row(
        "another namespace than the path's is refused",
        post(s.WIDGETS, s.meta(s.widget(), namespace="elsewhere")),
        post(s.CONFIG_MAPS, s.meta(s.config_map(), namespace="elsewhere")),
    ),
    row(
        "a namespace in a cluster-scoped object is dropped or refused",
        post(s.GADGETS, s.meta(s.gadget(), namespace="x")),
    ),
    row(
        "a namespace that does not exist is not found",
        post(f"{s.BASE}/namespaces/{{row}}-missing/widgets", s.widget()),
        post("/api/v1/namespaces/{row}-missing/configmaps", s.config_map()),
        namespace=False,
    ),
    row(
        "what only the server sets is ignored in a create",
        post(
            s.WIDGETS,
            s.meta(
                s.widget(),
                uid="11111111-1111-1111-1111-111111111111",
                creationTimestamp="2020-01-01T00:00:00Z",
                generation=77,
                selfLink="/x",
                deletionTimestamp="2020-01-01T00:00:00Z",
            ),
        ),
    ),
    row(
        "a resourceVersion in a create is refused",
        post(s.WIDGETS, s.versioned(s.widget(), "5")),
        post(s.CONFIG_MAPS, s.versioned(s.config_map(), "5")),
    ),
    row(
        "finalizers, owner references and annotations are kept",
        post(
            s.WIDGETS,
            s.meta(
                s.widget(),
                annotations={"example.com/a": "free text"},
                ownerReferences=[
                    {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "name": "x",
                        "uid": "22222222-2222-2222-2222-222222222222",
                    }
                ],
            ),
        ),
        post(s.WIDGETS, s.meta(s.widget("two"), labels={}, annotations={}, finalizers=[])),
    ),
    row(
        "a finalizer needs a qualified name",
        post(s.WIDGETS, s.meta(s.widget(), finalizers=["plain"])),
        post(s.WIDGETS, s.meta(s.widget("two"), finalizers=["a b"])),
    ),
    row(
        "an incomplete owner reference is refused",
        post(s.WIDGETS, s.meta(s.widget(), ownerReferences=[{"apiVersion": "v1", "kind": "ConfigMap", "name": "x"}])),
    ),
    row(
        "metadata of the wrong type is refused",
        post(s.WIDGETS, s.meta(s.widget(), labels={"a": 1})),
        post(s.WIDGETS, {**s.widget(), "metadata": "x"}),
        post(s.CONFIG_MAPS, s.meta(s.config_map(), labels={"a": 1})),
        post(s.CONFIG_MAPS, {**s.config_map(), "metadata": "x"}),
    ),
    row(
        "a create that is a dry run leaves nothing",
        post(s.WIDGETS, s.widget(size=3), dryRun="All"),
        get(s.WIDGETS + "/one"),
        post(s.CONFIG_MAPS, s.config_map(), dryRun="All"),
        post(s.WIDGETS, s.widget(size=99), dryRun="All"),
        post(s.WIDGETS, s.widget(), dryRun="Some"),
    ),
    row(
        "status in a create is dropped where status is a sub-resource",
        post(s.WIDGETS, {**s.widget(), "status": {"phase": "Set"}}),
        post(s.GADGETS, {**s.gadget(), "status": {"size": 1}}),
    ),
    row(
        "YAML bodies are read",
        post(
            s.WIDGETS,
            _YAML,
            media="application/yaml",
        ),
        post(s.CONFIG_MAPS, "metadata: {name: one}\ndata: {when: 2020-01-01}\n", media="application/yaml"),
    ),
)
