# ruff: noqa: E501  # a row of a table of rules stays on one line
"""Values judged by a schema: every rule with the words of the real server, and ratcheting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_simulator.apiserver import structural, validation


def judge(schema, value, old=None):
    whole = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"x": schema}}}}
    before = None if old is None else {"spec": {"x": old}}
    return [cause.text for cause in validation.validate(whole, {"spec": {"x": value}}, before)]


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ({"type": "integer"}, "a", 'spec.x: Invalid value: "string": spec.x in body must be of type integer: "string"'),
        ({"type": "integer"}, 1.5, 'spec.x: Invalid value: "number": spec.x in body must be of type integer: "number"'),
        ({"type": "string"}, True, 'spec.x: Invalid value: "boolean": spec.x in body must be of type string: "boolean"'),
        ({"type": "object"}, [], 'spec.x: Invalid value: "array": spec.x in body must be of type object: "array"'),
        ({"type": "integer", "minimum": 1}, 0, "spec.x: Invalid value: 0: spec.x in body should be greater than or equal to 1"),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 1, "spec.x: Invalid value: 1: spec.x in body should be greater than 1"),
        ({"type": "integer", "maximum": 1}, 2, "spec.x: Invalid value: 2: spec.x in body should be less than or equal to 1"),
        ({"type": "integer", "multipleOf": 2}, 3, "spec.x: Invalid value: 3: spec.x in body should be a multiple of 2"),
        ({"type": "string", "enum": ["a", "b"]}, "c", 'spec.x: Unsupported value: "c": supported values: "a", "b"'),
        ({"type": "string", "pattern": "^a$"}, "b", "spec.x: Invalid value: \"b\": spec.x in body should match '^a$'"),
        ({"type": "string", "minLength": 2}, "a", 'spec.x: Invalid value: "a": spec.x in body should be at least 2 chars long'),
        ({"type": "string", "maxLength": 2}, "abc", "spec.x: Too long: may not be more than 2 bytes"),
        ({"type": "string", "format": "date-time"}, "today", 'spec.x: Invalid value: "today": spec.x in body must be of type date-time: "today"'),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, [], "spec.x: Invalid value: 0: spec.x in body should have at least 1 items"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 1}, ["a", "b"], "spec.x: Too many: 2: must have at most 1 item"),
        ({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}, ["a", "a"], 'spec.x[1]: Duplicate value: "a"'),
        ({"type": "object", "required": ["a"]}, {}, "spec.x.a: Required value"),
        ({"x-kubernetes-int-or-string": True}, [], 'spec.x: Invalid value: "array": spec.x in body must be of type integer,string: "array"'),
        ({"type": "string", "oneOf": [{"pattern": "a"}, {"pattern": "b"}]}, "ab", '<nil>: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found 2 valid alternatives'),
        ({"type": "string", "anyOf": [{"pattern": "a"}, {"pattern": "b"}]}, "c", '<nil>: Invalid value: "": "spec.x" must validate at least one schema (anyOf)'),
        ({"type": "string", "not": {"pattern": "a"}}, "a", '<nil>: Invalid value: "": "spec.x" must not validate the schema (not)'),
    ],
)  # fmt: skip
def test_broken_rule_in_the_words_of_the_server(schema, value, text):
    assert judge(schema, value)[0] == text


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, 3.0),
        ({"type": "number"}, 3),
        ({"type": "string", "nullable": True}, None),
        ({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}, "50%"),
        ({"type": "string", "pattern": "b"}, "abc"),
        ({"type": "string", "format": "date-time"}, "2026-01-01T00:00:00.123Z"),
        ({"type": "string", "format": "unheard-of"}, "x"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": 1}),
    ],
)
def test_values_that_hold(schema, value):
    assert judge(schema, value) == []


def test_map_list_keys_are_unique():
    schema = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["stage", "name"],
        "items": {"type": "object", "properties": {"stage": {"type": "string"}, "name": {"type": "string"}}},
    }
    one, other = {"stage": "a", "name": "b"}, {"stage": "b", "name": "b"}
    assert judge(schema, [one, other]) == []
    assert judge(schema, [one, other, one]) == ['spec.x[2]: Duplicate value: {"stage":"a","name":"b"}']


def test_unchanged_invalid_value_is_tolerated_and_its_neighbours_are_not():
    schema = {
        "type": "object",
        "properties": {"old": {"type": "string", "maxLength": 1}, "new": {"type": "string", "maxLength": 1}},
    }
    assert judge(schema, {"old": "long"}, {"old": "long"}) == []
    assert judge(schema, {"old": "long", "new": "a"}, {"old": "long"}) == []
    assert len(judge(schema, {"old": "long", "new": "long"}, {"old": "long"})) == 1
    assert len(judge(schema, {"old": "longer"}, {"old": "long"})) == 1


SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "integer", "default": 3},
        "b": {
            "type": "object",
            "default": {},
            "properties": {
                "c": {"type": "string", "default": "x"},
                "d": {"type": "string", "nullable": True},
            },
        },
        "l": {
            "type": "array",
            "items": {"type": "object", "properties": {"n": {"type": "integer", "default": 1}}},
        },
        "m": {
            "type": "object",
            "additionalProperties": {"type": "object", "properties": {"n": {"type": "integer"}}},
        },
        "e": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"s": {"type": "string"}},
        },
    },
}


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ({}, {"a": 3, "b": {"c": "x"}}),
        ({"a": 1, "b": {"c": "y"}}, {"a": 1, "b": {"c": "y"}}),
        ({"l": [{}, {"n": 2}]}, {"a": 3, "b": {"c": "x"}, "l": [{"n": 1}, {"n": 2}]}),
    ],
)
def test_defaults(value, result):
    assert structural.default(SCHEMA, value) == result
    assert structural.default(SCHEMA, result) is result


@pytest.mark.parametrize(
    ("value", "result", "unknown"),
    [
        ({"a": 1, "z": 1}, {"a": 1}, ["z"]),
        ({"b": {"c": "x", "z": 1}}, {"b": {"c": "x"}}, ["b.z"]),
        ({"l": [{"n": 1}, {"z": 1}]}, {"l": [{"n": 1}, {}]}, ["l[1].z"]),
        ({"m": {"any": {"n": 1, "z": 2}}}, {"m": {"any": {"n": 1}}}, ["m.any.z"]),
        ({"b": {"c": None, "d": None}}, {"b": {"d": None}}, []),
        (
            {"e": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "n"}, "z": 1}},
            {"e": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "n"}}},
            ["e.z"],
        ),
    ],
)
def test_pruning(value, result, unknown):
    assert structural.prune_object(SCHEMA, value) == (result, unknown)


JSON = st.recursive(
    st.none() | st.integers(-3, 3) | st.text("xyz", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abcdlmnz"), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from("ablmez"), JSON, max_size=4))
def test_pruning_and_defaulting_twice_is_once(value):
    pruned, _ = structural.prune_object(SCHEMA, value)
    assert structural.prune_object(SCHEMA, pruned) == (pruned, [])
    filled = structural.default(SCHEMA, pruned)
    assert structural.default(SCHEMA, filled) == filled
    validation.validate(SCHEMA, filled, None)
