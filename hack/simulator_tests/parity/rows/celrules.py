"""Validation rules in CEL: create, update, transitions, messages."""

from __future__ import annotations

from simulator_tests.parity import samples as s
from simulator_tests.parity.table import first, patch, post, row

ONE = s.RULES + "/one"
STATUS = ONE + "/status"


ROWS = (
    row("a rule holds on create", post(s.RULES, s.rule(request="three")), post(s.RULES, s.rule(request="one"))),
    row(
        "a rule holds on update",
        first(post(s.RULES, s.rule(request="one"))),
        patch(ONE, {"spec": {"request": "three"}}),
        patch(ONE, {"spec": {"request": "two"}}),
    ),
    row("a message is computed by its expression", post(s.RULES, s.rule(size=1, least=2))),
    row(
        "a transition rule does not hold on create, and does on update",
        post(s.RULES, s.rule(name="a")),
        patch(ONE, {"spec": {"name": "b"}}),
        patch(ONE, {"spec": {"name": None}}),
        patch(ONE, {"spec": {"name": "b"}}),
    ),
    row(
        "optionalOldSelf lets a transition rule see creation",
        post(s.RULES, s.rule(locked="closed")),
        patch(ONE, {"spec": {"locked": "open"}}),
        patch(ONE, {"spec": {"locked": "closed"}}),
    ),
    row(
        "a rule of the whole object sees status and spec",
        first(post(s.RULES, s.rule(request="one"))),
        patch(STATUS, {"status": {"topology": "one"}}),
        patch(ONE, {"spec": {"request": "two"}}),
        patch(STATUS, {"status": {"phase": "Moving"}}),
        patch(ONE, {"spec": {"request": None}}),
        patch(ONE, {"spec": {"request": "one"}}),
        patch(ONE, {"metadata": {"labels": {"a": "b"}}}),
        patch(STATUS, {"status": {"phase": None}}),
        patch(ONE, {"spec": {"request": "one"}}),
        patch(ONE, {"spec": {"request": None}}),
    ),
    row(
        "several rules are told together",
        post(
            s.RULES,
            s.rule("x" * 50, request="three", size=1, least=2, broken={"a": -1}),
        ),
    ),
)
