"""Bodies in protobuf, as kubectl sends the objects that it makes itself. The encoder here is the only one there is."""

from __future__ import annotations

from typing import Any

from simulator_tests.parity import samples as s
from simulator_tests.parity import table as t
from simulator_tests.parity.rows import strategic
from simulator_tests.parity.table import delete, first, get, post, put, row

MEDIA = "application/vnd.kubernetes.protobuf"
_AUTHORIZATION = "/apis/authorization.k8s.io/v1"


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    septets = [value >> shift & 0x7F for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes(part | 0x80 for part in septets[:-1]) + bytes(septets[-1:])


def field(number: int, *parts: Any) -> bytes:
    """Return a field of a message: a number, a text, bytes, or the message that these parts make."""
    if len(parts) == 1 and isinstance(parts[0], int):
        return _varint(number << 3) + _varint(int(parts[0]))
    content = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def body(version: str, kind: str, *parts: bytes) -> bytes:
    """Return a whole body: an envelope with the object that these fields make."""
    return b"k8s\x00" + field(1, field(1, version), field(2, kind)) + field(2, *parts) + field(3, "") + field(4, "")


def _pair(number: int, key: str, value: bytes | str) -> bytes:
    return field(number, field(1, key), field(2, value))


def _meta(name: str = "one", *more: bytes) -> bytes:
    """Return metadata as typed clients send it: with every field that is no pointer, empty ones too."""
    empty = b"".join(field(number, "") for number in (2, 3, 4, 5, 6))
    return field(1, field(1, name), empty, field(7, 0), field(8), *more)


_LABELS = _pair(11, "a", "b") + _pair(12, "note", "ä")
_SELECTOR = field(1, field(1, "a"), field(2, "b"))
_CONTAINER = field(
    2,
    field(1, "x"),
    field(2, "image-of-x"),
    field(3, "run"),
    field(6, field(1, ""), field(2, 0), field(3, 80), field(4, "TCP"), field(5, "")),
    field(7, field(1, "A"), field(2, "1")),
    field(8, _pair(2, "cpu", field(1, "100m"))),
    field(
        10, field(1, field(2, field(1, "/healthz"), field(2, field(1, 1), field(2, 0), field(3, "web")))), field(3, 3)
    ),
)
_DEPLOYMENT = body(
    "apps/v1",
    "Deployment",
    _meta("one", _LABELS),
    field(
        2,
        field(1, 0),
        field(2, _SELECTOR),
        field(3, field(1, field(11, field(1, "a"), field(2, "b"))), field(2, _CONTAINER, field(4, 7))),
        field(5, 0),
        field(7, 0),
    ),
    field(3, field(1, 0), field(2, 0)),
)


def _spec(answer: Any) -> Any:
    spec = answer["spec"]["template"]["spec"]
    [container] = spec["containers"]
    shown = ("name", "image", "command", "env", "ports", "resources")
    return [
        answer["metadata"]["labels"],
        answer["metadata"]["annotations"]["note"],
        answer["spec"]["replicas"],
        answer["spec"]["selector"],
        {name: container[name] for name in shown},
        spec["terminationGracePeriodSeconds"],
    ]


ROWS = (
    row(
        "an object in protobuf is what it would be in JSON",
        post(
            s.CONFIG_MAPS,
            body(
                "v1",
                "ConfigMap",
                _meta("one", _LABELS),
                _pair(2, "a", "1"),
                _pair(3, "b", b"\x00\xff"),
                field(4, 0),
            ),
            media=MEDIA,
        ),
        put(s.CONFIG_MAPS + "/one", body("v1", "ConfigMap", _meta(), _pair(2, "a", "2")), media=MEDIA),
        post(s.CONFIG_MAPS, body("v1", "ConfigMap", _meta(), _pair(2, "a", "1")), media=MEDIA),
        get(s.CONFIG_MAPS + "/one"),
    ),
    row(
        "a secret in protobuf",
        post(
            "/api/v1/namespaces/{row}/secrets",
            body("v1", "Secret", _meta(), _pair(2, "a", b"\x01"), field(3, "Opaque"), _pair(4, "b", "text")),
            media=MEDIA,
        ),
    ),
    row(
        "a lease in protobuf has its times",
        post(
            s.LEASES,
            body(
                "coordination.k8s.io/v1",
                "Lease",
                _meta(),
                field(
                    2, field(1, "me"), field(2, 15), field(4, field(1, 1136171045), field(2, 678901000)), field(5, 0)
                ),
            ),
            media=MEDIA,
        ),
        post(s.LEASES, body("coordination.k8s.io/v1", "Lease", _meta("two"), field(2, field(2, -1))), media=MEDIA),
    ),
    row(
        "a deployment in protobuf",
        post(strategic.DEPLOYMENTS, _DEPLOYMENT, media=MEDIA, view=_spec),
    ),
    row(
        "a budget in protobuf has a number or a share",
        *(
            post(
                "/apis/policy/v1/namespaces/{row}/poddisruptionbudgets",
                body("policy/v1", "PodDisruptionBudget", _meta(name), field(2, field(1, least), field(2, _SELECTOR))),
                media=MEDIA,
                view=lambda answer: answer["spec"],
            )
            for name, least in (
                ("one", field(1, 1) + field(2, 0) + field(3, "50%")),
                ("two", field(1, 0) + field(2, 2)),
            )
        ),
    ),
    row(
        "a review in protobuf",
        post(
            _AUTHORIZATION + "/selfsubjectaccessreviews",
            body(
                "authorization.k8s.io/v1",
                "SelfSubjectAccessReview",
                _meta(""),
                field(2, field(1, field(2, "get"), field(5, "nodes"))),
                field(3, field(1, 0)),
            ),
            media=MEDIA,
            view=lambda answer: [answer["spec"], answer["status"]["allowed"]],
        ),
        namespace=False,
    ),
    row(
        "a review of the client itself",
        post(
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            {},
            view=lambda answer: [answer["kind"], "system:masters" in answer["status"]["userInfo"]["groups"]],
        ),
        post(
            _AUTHORIZATION + "/selfsubjectrulesreviews",
            {"spec": {"namespace": "default"}},
            view=lambda answer: [rule for rule in answer["status"]["resourceRules"] if rule["resources"] == ["*"]],
        ),
        namespace=False,
    ),
    row(
        "delete options in protobuf",
        first(post(s.CONFIG_MAPS, s.config_map())),
        delete(s.CONFIG_MAPS + "/one", body("v1", "DeleteOptions", field(5, "All")), media=MEDIA),
        delete(
            s.CONFIG_MAPS + "/one",
            body("v1", "DeleteOptions", field(2, field(1, "00000000-0000-0000-0000-000000000000"))),
            media=MEDIA,
        ),
        delete(s.CONFIG_MAPS + "/one", body("v1", "DeleteOptions", field(1, 0), field(4, "Foreground")), media=MEDIA),
        get(s.CONFIG_MAPS + "/one", view=lambda answer: answer["metadata"]["finalizers"]),
    ),
    row(
        "a field that protobuf does not know is left out",
        post(s.CONFIG_MAPS, body("v1", "ConfigMap", _meta(), field(99, "x"), _pair(2, "a", "1")), media=MEDIA),
    ),
    row(
        "a body in protobuf of another kind",
        post(s.CONFIG_MAPS, body("v1", "Secret", _meta()), media=MEDIA, view=lambda answer: answer),
    ),
    row(
        "malformed protobuf",
        post(s.CONFIG_MAPS, "not protobuf", media=MEDIA),
        post(s.CONFIG_MAPS, body("v1", "ConfigMap", _meta())[:20], media=MEDIA),
        post(s.CONFIG_MAPS, body("v1", "ConfigMap", field(1, 7)), media=MEDIA),
    ),
    row(
        "protobuf of a custom resource",
        post(s.WIDGETS, t.JSON.encode(), media=MEDIA),
    ),
)
