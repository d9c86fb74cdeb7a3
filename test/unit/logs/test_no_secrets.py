"""No line carries a credential: neither one that looks like one, nor one that we know because we send it."""

from __future__ import annotations

import base64
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_controller import logs, terminal

JWT = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJpc3MiOiJrdWJlIn0.c2lnbmF0dXJl-x_y"
OAUTH = "sha256~Qm9uam91ciBsZSBtb25kZQ-abc_def"
PEM = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIDm1YQ\n-----END EC PRIVATE KEY-----"
OPAQUE = "s3cr3tS3cr3tValue0987"


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {OPAQUE}",
        f"authorization: {OPAQUE}",
        f"Proxy-Authorization: Digest user={OPAQUE}, nonce={OPAQUE}",
        f'{{"Authorization": "Negotiate {OPAQUE}"}}',
        f'"{{\\"Authorization\\": \\"Bearer {OPAQUE}\\"}}"',
        f"map[Authorization:[Token {OPAQUE}] Accept:[*/*]]",
        f"Cookie: topology_session={OPAQUE}; other={OPAQUE}",
        f"Set-Cookie: topology_session={OPAQUE}; HttpOnly",
        f"bearer {OPAQUE}",
        f"Basic {base64.b64encode(OPAQUE.encode()).decode()}",
        f"token {JWT} has expired",
        f"the token is {OAUTH}.",
        f"key: {PEM}",
        f"client-key-data: {base64.b64encode(PEM.encode()).decode()}",
        f"https://user:{OPAQUE}@proxy.example:3128/path",
        f"http://{OPAQUE}@proxy.example",
        f"cannot connect to https://user:p@ss{OPAQUE}@proxy:3128",
        f"GET /watch?access_token={OPAQUE}&x=1",
        f'{{"status": {{"token": "{OPAQUE}"}}}}',
        f"password: {OPAQUE}",
        f"client_secret={OPAQUE}",
        f"api-key={OPAQUE}",
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_what_looks_like_a_credential_is_removed(text: str, form: str) -> None:
    formatter = logs.Json() if form == "json" else logs.Text()
    for message, args in ((text, ()), ("found: %(message)s", ({"message": text, "unsaid": text},)), ("%s", (text,))):
        line = formatter.format(logging.LogRecord("x", logging.INFO, "x.py", 1, message, args, None))
        for secret in (OPAQUE, JWT, OAUTH, "MHcCAQEEIDm1YQ", base64.b64encode(PEM.encode()).decode()[8:]):
            assert secret not in line
            assert base64.b64encode(secret.encode()).decode()[:-4] not in line
        assert "removed" in line


@pytest.mark.parametrize(
    "text",
    [
        "phase Pending: 2 of 8 preflight checks not met: ControlPlaneNodes (2 of 3), EtcdHealthy",
        "cannot get secrets/x in namespace y: 403 Forbidden",
        'oc patch infrastructure cluster --type merge -p \'{"spec":{"desiredTopology":null}}\'',
        "leading as operator-a_7f1c2d3e-1111-2222-3333-444455556666",
        "the certificates in /etc/etcd-client were replaced",
        "GET /apis/config.openshift.io/v1/infrastructures: 200 after 3.2 ms",
        "watching leases.coordination.k8s.io/openshift-cluster-etcd-operator-lock@openshift-etcd-operator",
    ],
)
def test_what_is_none_is_left(text: str) -> None:
    assert terminal.redacted(text) == text


@given(value=st.text(st.characters(codec="ascii", categories=("L", "N"), include_characters="-._~+/"), min_size=16))
def test_what_we_send_ourselves_is_removed_wherever_it_appears(value: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terminal, "_known", {})
        terminal.remember(f"Bearer {value}")
        assert value not in terminal.redacted(f"x{value}y and {value}")


def test_only_the_newest_are_remembered_and_no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "_known", {})
    terminal.remember("Bearer operator-a")
    assert terminal.redacted("leading as operator-a") == "leading as operator-a"
    for number in range(100):
        terminal.remember(f"Bearer {number:020d}")
    assert len(terminal._known) == 16
    assert terminal.redacted(f"{99:020d}") == "(removed)"
