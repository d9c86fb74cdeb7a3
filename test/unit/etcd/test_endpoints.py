"""One endpoint, one spelling; and nothing that is not https."""

from __future__ import annotations

import pytest

from topology_controller.etcd import client


@pytest.mark.parametrize(
    ("written", "spelt"),
    [
        ("https://192.0.2.1:2379", "https://192.0.2.1:2379"),
        ("https://192.0.2.1", "https://192.0.2.1:2379"),
        (" https://192.0.2.1:2379/ ", "https://192.0.2.1:2379"),
        ("HTTPS://Etcd-0.Example.ORG:1", "https://etcd-0.example.org:1"),
        ("https://[2001:DB8:0::1]:2379", "https://[2001:db8::1]:2379"),
    ],
)
def test_two_spellings_are_one_endpoint(written: str, spelt: str):
    assert client.parse_endpoint(written) == spelt
    assert client.parse_endpoint(spelt) == spelt


@pytest.mark.parametrize(
    "written",
    [
        "", "192.0.2.1:2379", "http://192.0.2.1:2379", "unix://socket", "https://", "https://h:0x1", "https://h:99999",
        "https://u:p@h:1", "https://h:1/v3", "https://h:1?x=1", "https://h:1#x", "https://[::1:1", "https://:2379",
    ],
)  # fmt: skip
def test_anything_else_is_refused_and_shown(written: str):
    with pytest.raises(ValueError, match=r"URL|https"):
        client.parse_endpoint(written)
