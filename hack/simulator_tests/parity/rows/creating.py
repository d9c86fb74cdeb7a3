"""Creating objects: names, namespaces, bodies that do not fit the path."""

from __future__ import annotations

from simulator_tests.parity import samples as s
from simulator_tests.parity.table import first, get, post, row

ROWS = (
    row(
        "a created custom resource comes back with its identity",
        post(s.WIDGETS, s.widget(size=3)),
        get(s.WIDGETS + "/one"),
    ),
    row("a created cluster-scoped object has no namespace", post(s.GADGETS, s.gadget(size=1)), namespace=False),
    row("creating what is there is refused", first(post(s.WIDGETS, s.widget())), post(s.WIDGETS, s.widget())),
    row(
        "a name is generated from its beginning",
        post(s.WIDGETS, {**s.widget(), "metadata": {"generateName": "{row}-gen-"}}),
        post(s.WIDGETS, {**s.widget(), "metadata": {"generateName": "{row}-gen-"}}),
        post(s.CONFIG_MAPS, {**s.config_map(), "metadata": {"generateName": "{row}-gen-"}}),
    ),
    row(
        "a name must have the form of a DNS subdomain",
        post(s.WIDGETS, s.widget("Not_A_Name")),
        post(s.CONFIG_MAPS, s.config_map("Not_A_Name")),
        post(s.NODES, s.node("UPPER")),
        post(s.CONFIG_MAPS, s.config_map("-a")),
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
)
