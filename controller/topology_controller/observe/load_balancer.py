"""Reads what is said about the load balancer of the control plane: by Infrastructure, and by an administrator.

Nothing here may spoil the object that it stands in: Infrastructure with a nonsensical load balancer is still read, and
an entry of the annotation that is no address is kept, with its place, so that it can be quoted. Who manages the load
balancer, and whether every node is named, say `checks.load_balancer`.
"""

from __future__ import annotations

import re
import urllib.parse
from typing import Any, Final

from . import facts, fields

LONGEST: Final = 4096
"""Bytes of the annotation; five addresses have less than a hundred."""
_KEYS: Final = {"BareMetal": "baremetal", "Nutanix": "nutanix", "OpenStack": "openstack", "VSphere": "vsphere"}
"""Where `status.platformStatus` has the load balancer of a platform that may manage one itself.

openshift/api config/v1/types_infrastructure.go (release-4.20 to main)."""
_SEPARATORS = re.compile(r"[,\s]+")
_HOST = re.compile(r"[-.:0-9A-Za-z]{1,253}\Z")
_MOST_ADDRESSES = 8
_LONGEST_WORD = 64
_LONGEST_URL = 1024


def load_balancer(raw: dict[str, Any]) -> facts.Fact[facts.LoadBalancer]:
    """Infrastructure `cluster` (config.openshift.io/v1). Raises fields.Malformed when its status is no object."""
    status = fields.mapping(raw, "status")
    try:
        return facts.LoadBalancer(
            *_managed(raw),
            api_host=_host(status.get("apiServerURL")),
            api_internal_host=_host(status.get("apiServerInternalURI")),
        )
    except fields.Malformed as error:
        return facts.Unobserved(
            "infrastructures.config.openshift.io/cluster", f"malformed: {error}", facts.Kind.MALFORMED
        )


def _managed(raw: dict[str, Any]) -> tuple[str | None, tuple[str, ...]]:
    """Type of the load balancer, and the addresses that the cluster keeps for its API."""
    platform = fields.text(raw, "status.platformStatus.type") or fields.text(raw, "status.platform")
    if platform not in _KEYS:
        return None, ()
    path = f"status.platformStatus.{_KEYS[platform]}"
    type_ = fields.text(raw, f"{path}.loadBalancer.type")
    values = fields.items(raw, f"{path}.apiServerInternalIPs", str)
    if not values and (older := fields.text(raw, f"{path}.apiServerInternalIP")) is not None:
        values = [older]
    addresses = []
    for value in filter(None, values[:_MOST_ADDRESSES]):
        address = fields.address(value)
        if address is None:
            raise fields.Malformed(f"{path}.apiServerInternalIPs[]", "an IP address", value)
        addresses.append(address)
    return type_[:_LONGEST_WORD] if type_ else None, tuple(addresses)


def _host(url: object) -> str | None:
    """The host of a URL. Only words depend on it, so one that cannot be read is none."""
    if not isinstance(url, str) or len(url) > _LONGEST_URL:
        return None
    try:
        host = urllib.parse.urlsplit(url).hostname or ""
    except ValueError:
        return None
    return fields.address(host) or host if _HOST.match(host) else None


def backends(value: object) -> facts.Backends | None:
    """Annotation LOAD_BALANCER_BACKENDS_ANNOTATION; None when it is not there."""
    if not isinstance(value, str):
        return None
    if len(value) > LONGEST or len(value.encode(errors="replace")) > LONGEST:
        return facts.Backends(too_long=True)
    addresses: dict[str, bool] = {}
    wrong = []
    for position, entry in enumerate(filter(None, _SEPARATORS.split(value)), start=1):
        address = fields.address(entry)
        if address is None:
            wrong.append((position, entry))
        else:
            addresses[address] = address in addresses
    repeated = tuple(address for address, again in addresses.items() if again)
    return facts.Backends(tuple(addresses), tuple(wrong), repeated)
