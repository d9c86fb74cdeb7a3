"""x-kubernetes-validations: what rules can say, when they run, and what a failing one answers."""

from __future__ import annotations

import pytest

from topology_simulator.apiserver import cel, validation

STRING = {"type": "string"}
SPEC = {
    "type": "object",
    "properties": {
        "s": STRING,
        "n": {"type": "integer"},
        "d": {"type": "number"},
        "l": {"type": "array", "items": STRING},
        "list": {"type": "array", "items": {"type": "integer"}},
        "m": {"type": "object", "additionalProperties": {"type": "integer"}},
        "with-dash": STRING,
        "namespace": STRING,
        "io": {"x-kubernetes-int-or-string": True},
        "deep": {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": STRING}}}},
    },
}


def compiled(rule, schema=None, **more):
    spec = {**(schema or SPEC), "x-kubernetes-validations": [{"rule": rule, **more}]}
    return cel.compile_rules({"type": "object", "properties": {"spec": spec, "status": SPEC}}, "schema")


def run(rule, value, old=validation.MISSING, schema=None, **more):
    rules, causes = compiled(rule, schema, **more)
    assert causes == [], causes
    before = old if old is validation.MISSING else {"spec": old}
    return [cause.text for cause in rules.validate({"spec": value}, before)]


@pytest.mark.parametrize(
    ("rule", "value", "holds"),
    [
        ("self.n > 3", {"n": 4}, True),
        ("self.n > 3", {"n": 3}, False),
        ("self.d > 0.5", {"d": 1}, True),
        ("self.d + 0.5 == 1.5", {"d": 1}, True),
        ("has(self.s)", {}, False),
        ("!has(self.s) || self.s.startsWith('a')", {"s": "ab"}, True),
        ("self.?deep.?a.?b.orValue('x') == 'x'", {}, True),
        ("self.?deep.a.b.orValue('x') == 'y'", {"deep": {"a": {"b": "y"}}}, True),
        ("self.l.all(x, x.matches('^[a-z]+$'))", {"l": ["a", "B"]}, False),
        ("self.s.split(',').join('-') == 'a-b'", {"s": "a,b"}, True),
        ("self.s.lowerAscii().replace('x', 'y').trim().substring(1) == 'bc'", {"s": " ABC "}, True),
        ("size(self.s) == 1 && self.s.size() == 1", {"s": "\u00e9"}, True),
        ("'a' in self.m && self.m['a'] == 1", {"m": {"a": 1}}, True),
        ("self.m.exists(k, self.m[k] > 5)", {"m": {"a": 1}}, False),
        (
            "self.with__dash__dash == 'x' && self.__namespace__ == 'y'",
            {"with-dash": "x", "namespace": "y"},
            True,
        ),
        ("type(self.io) == string ? self.io == '5%' : self.io == 5", {"io": "5%"}, True),
        ("isIP(self.s) && ip(self.s).family() == 4", {"s": "192.0.2.1"}, True),
        ("isIP(self.s) ? ip(self.s).family() == 6 : false", {"s": "fe80::1%eth0"}, False),
        ("isCIDR(self.s)", {"s": "192.0.2.0/24"}, True),
        ("isCIDR(self.s)", {"s": "192.0.2.1"}, False),
        ("isURL(self.s) && url(self.s).getScheme() == 'https'", {"s": "https://example.com/x"}, True),
        ("'%s' .format([self.s]) == 'x'", {"s": "x"}, True),
    ],
)
def test_what_rules_can_say(rule, value, holds):
    found = run(rule, value)
    assert found == ([] if holds else [f"spec: Invalid value: failed rule: {rule}"])


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("self.foo()", "undeclared reference to 'foo'"),
        ("foo(self)", "undeclared reference to 'foo'"),
        ("isQuantity(self.s)", "undeclared reference to 'isQuantity'"),
        ("self.nope == 1", "undefined field 'nope'"),
        ("self.deep.a.nope == 1", "undefined field 'nope'"),
        ("self.n +", "Syntax error"),
        ("1", "cel expression must evaluate to a bool"),
        ("self.n == 1.0", "no matching overload for '_==_' applied to '(int, double)'"),
        ("self.deep.a.nope == 1", "<input>:1:12: undefined field 'nope'"),
        ("self.l.all(i, v, v != '')", "undeclared reference"),
        ("", "rule is not specified"),
    ],
)
def test_rule_that_is_not_understood_refuses_the_definition(rule, words):
    _, causes = compiled(rule)
    assert causes, rule
    assert words in causes[0].message
    assert causes[0].field == "schema.properties[spec].x-kubernetes-validations[0].rule"


def test_scalar_types_are_checked():
    schema = {"type": "integer"}
    _, causes = compiled("self == 1.0", schema)
    assert "no matching overload for '_==_' applied to '(int, double)'" in causes[0].message


def test_message_reason_and_field_path():
    assert run("self.n > 3", {"n": 1}, message="must be big") == ["spec: Invalid value: must be big"]
    text = run("self.n > 3", {"n": 1}, message="x", messageExpression="'is ' + string(self.n)", fieldPath=".n")
    assert text == ["spec.n: Invalid value: is 1"]
    text = run("self.n > 3", {"n": 1}, message="no", reason="FieldValueForbidden")
    assert text == ["spec: Forbidden: no"]


def test_missing_key_refuses_with_the_error():
    assert run("self.s == 'x'", {}, message="hint") == [
        'spec: Invalid value: "object": no such key: s evaluating rule: hint'
    ]


def test_transition_rules_run_on_updates_only():
    rule = "self.n >= oldSelf.n"
    assert run(rule, {"n": 1}) == []
    assert run(rule, {"n": 1}, {"n": 2}) == [f"spec: Invalid value: failed rule: {rule}"]
    assert run(rule, {"n": 2}, {"n": 1}) == []


def test_optional_old_self_also_runs_on_create():
    rule = "oldSelf.hasValue() ? self.n == oldSelf.value().n : self.n == 0"
    assert run(rule, {"n": 0}, optionalOldSelf=True) == []
    assert len(run(rule, {"n": 1}, optionalOldSelf=True)) == 1
    assert run(rule, {"n": 1}, {"n": 1}, optionalOldSelf=True) == []
    assert run("oldSelf.?s.orValue('none') == 'none'", {"n": 1}, {"n": 2}, optionalOldSelf=True) == []


def test_unchanged_value_is_not_judged_again():
    assert run("self.n > 3", {"n": 1}, {"n": 1}) == []
    assert len(run("self.n > 3", {"n": 1}, {"n": 2})) == 1


def test_old_self_needs_a_counterpart():
    item = {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]}
    _, causes = cel.compile_rules({"type": "array", "items": item}, "schema")
    assert "uncorrelatable" in causes[0].message
    entry = {
        "type": "object",
        "properties": {"name": STRING, "n": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.n >= oldSelf.n", "message": "shrinks"}],
    }
    schema = {
        "type": "array",
        "items": entry,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    rules, causes = cel.compile_rules({"type": "object", "properties": {"list": schema}}, "schema")
    assert causes == []
    old = {"list": [{"name": "a", "n": 1}, {"name": "b", "n": 5}]}
    new = {"list": [{"name": "b", "n": 4}, {"name": "c", "n": 0}]}
    assert [cause.text for cause in rules.validate(new, old)] == ["list[0]: Invalid value: shrinks"]


def rooted(samples, *rules):
    crd = samples.widget_crd()
    samples.schema_of(crd)["x-kubernetes-validations"] = list(rules)
    return crd


CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"


async def test_root_rule_that_mentions_an_absent_status_refuses_the_object(client, samples):
    rule = {"rule": "self.status.size >= self.spec.size", "message": "status lags"}
    crd = rooted(samples, rule)
    done = await client.merge(CRD, {"spec": crd["spec"]})
    assert done.code == 200, done.body
    refused = await client.post(samples.WIDGETS, samples.widget(size=1))
    assert refused.code == 422
    assert refused.body["message"] == (
        'Widget.example.com "one" is invalid: <nil>: Invalid value: "object": '
        "no such key: status evaluating rule: status lags"
    )


async def test_rules_run_on_both_writes_and_see_the_stored_rest(client, samples):
    rule = {
        "rule": "!has(self.status) || !has(self.status.size) || self.status.size <= self.spec.size",
        "message": "too big",
    }
    await client.merge(CRD, {"spec": rooted(samples, rule)["spec"]})
    await client.post(samples.WIDGETS, samples.widget(size=3))
    path = f"{samples.WIDGETS}/one"
    assert (await client.merge(f"{path}/status", {"status": {"size": 4}, "spec": {"size": 9}})).code == 422
    assert (await client.merge(f"{path}/status", {"status": {"size": 3}})).code == 200
    assert (await client.merge(path, {"spec": {"size": 2}})).code == 422


async def test_rules_wait_for_a_valid_object(client, samples):
    rule = {"rule": "self.spec.size > 3", "message": "small"}
    await client.merge(CRD, {"spec": rooted(samples, rule)["spec"]})
    refused = await client.post(samples.WIDGETS, samples.widget(size="x"))
    assert "some validation rules were not checked" in refused.body["message"]
    assert "small" not in refused.body["message"]
