"""Label and field selectors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_simulator.apiserver import selectors, statuses

LABELS = {"a": "1", "b": "2", "example.com/c": "", "n": "5"}


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("", True),
        ("a=1", True),
        ("a==1", True),
        ("a=2", False),
        ("a!=1", False),
        ("a!=2", True),
        ("z!=2", True),
        ("a", True),
        ("z", False),
        ("!z", True),
        ("!a", False),
        ("a in (1,2)", True),
        ("a in (2, 3)", False),
        ("a notin (2,3)", True),
        ("a notin (1)", False),
        ("z notin (1)", True),
        ("z in ()", False),
        ("example.com/c=", True),
        ("example.com/c", True),
        ("a=1,b=2", True),
        ("a=1,b=3", False),
        (" a = 1 , b in (2) , !z ", True),
        ("n > 4", True),
        ("n > 5", False),
        ("n < 6", True),
        ("a > x", None),
        ("a=1,", None),
        ("=1", None),
        ("a in 1", None),
        ("a in (1", None),
        ("-a", None),
    ],
)
def test_label_selectors(text, taken):
    if taken is None:
        with pytest.raises(statuses.StatusError) as refused:
            selectors.parse_labels(text)
        assert refused.value.code == 400
    else:
        assert selectors.parse_labels(text)(LABELS) is taken


WORDS = st.from_regex(r"[a-z]{1,3}", fullmatch=True)


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3), st.dictionaries(WORDS, WORDS, max_size=3))
def test_notin_is_the_opposite_of_in(key, values, labels):
    inside = selectors.parse_labels(f"{key} in ({','.join(values)})")(labels)
    outside = selectors.parse_labels(f"{key} notin ({','.join(values)})")(labels)
    assert inside is not outside
    assert inside is (labels.get(key) in values)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("a=b", [("a", "=", "b")]),
        ("a==b,c!=d", [("a", "=", "b"), ("c", "!=", "d")]),
        (r"a=x\,y", [("a", "=", "x,y")]),
        ("a=", [("a", "=", "")]),
        ("", []),
    ],
)
def test_field_selector_terms(text, terms):
    assert selectors.split_fields(text) == terms


async def test_fields_that_are_offered(client, samples):
    pods = "/api/v1/namespaces/default/pods"
    for name, node in (("p1", "n1"), ("p2", "n2")):
        await client.post(pods, {"metadata": {"name": name}, "spec": {"nodeName": node}})
    found = await client.get("/api/v1/pods", fieldSelector="spec.nodeName=n1,status.phase=Pending")
    assert [one["metadata"]["name"] for one in found.body["items"]] == ["p1"]
    found = await client.get("/api/v1/pods", fieldSelector="metadata.namespace!=default")
    assert found.body["items"] == []
    found = await client.get("/api/v1/pods", fieldSelector="metadata.name=p2")
    assert [one["metadata"]["name"] for one in found.body["items"]] == ["p2"]


@pytest.mark.parametrize("kind", ["NODES", "WIDGETS"])
async def test_other_fields_are_refused(client, samples, kind):
    refused = await client.get(getattr(samples, kind), fieldSelector="spec.foo=1")
    assert (refused.code, refused.body["message"]) == (400, "field label not supported: spec.foo")
