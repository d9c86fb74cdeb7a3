"""Which TLS the cluster's administrator wants: from APIServer `cluster` to a lowest version and a list of ciphers.

Pure; `settings` watches the object, `tls` makes contexts. The profiles are those of openshift/api
(config/v1/types_tlssecurityprofile.go), whose ciphers have OpenSSL's names already.

`.spec.tlsAdherence` (config/v1/types_apiserver.go) says who must follow the profile. StrictAllComponents: everybody. So
does every value that we do not know, as library-go reads it (pkg/crypto, ShouldHonorClusterTLSProfile).
LegacyAdheringComponentsOnly, and none: those that always have go on, and the others use what is their own. This
operator follows the profile in both cases, as an administrator who asks for Modern means the newest component, too. The
one difference: without StrictAllComponents a profile that is weaker than our own, Intermediate, does not weaken us.

Python cannot choose among the three suites of TLS 1.3, so these names are left out: all three are always offered.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import Any

_TLS13_PREFIX = "TLS_"
_LEGACY = ("", "LegacyAdheringComponentsOnly")
_VERSIONS = {
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
_INTERMEDIATE_CIPHERS = (
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
    "DHE-RSA-AES128-GCM-SHA256",
    "DHE-RSA-AES256-GCM-SHA384",
)
_OLD_CIPHERS = (
    *_INTERMEDIATE_CIPHERS,
    "DHE-RSA-CHACHA20-POLY1305",
    "ECDHE-ECDSA-AES128-SHA256",
    "ECDHE-RSA-AES128-SHA256",
    "ECDHE-ECDSA-AES128-SHA",
    "ECDHE-RSA-AES128-SHA",
    "ECDHE-ECDSA-AES256-SHA384",
    "ECDHE-RSA-AES256-SHA384",
    "ECDHE-ECDSA-AES256-SHA",
    "ECDHE-RSA-AES256-SHA",
    "DHE-RSA-AES128-SHA256",
    "DHE-RSA-AES256-SHA256",
    "AES128-GCM-SHA256",
    "AES256-GCM-SHA384",
    "AES128-SHA256",
    "AES256-SHA256",
    "AES128-SHA",
    "AES256-SHA",
    "DES-CBC3-SHA",
)


@dataclass(frozen=True, slots=True)
class Profile:
    """A lowest version, and the ciphers (OpenSSL's names) below TLS 1.3; none: TLS 1.3 only."""

    name: str
    minimum: ssl.TLSVersion
    ciphers: tuple[str, ...] = ()


OLD = Profile("Old", ssl.TLSVersion.TLSv1, _OLD_CIPHERS)
INTERMEDIATE = Profile("Intermediate", ssl.TLSVersion.TLSv1_2, _INTERMEDIATE_CIPHERS)
MODERN = Profile("Modern", ssl.TLSVersion.TLSv1_3)
_NAMED = {one.name: one for one in (OLD, INTERMEDIATE, MODERN)}


def wanted(raw: dict[str, Any]) -> Profile:
    """Return what a raw APIServer asks of us.

    No profile, or one without a type: Intermediate. A type, a version or a form that we do not know: Modern, the
    strictest. Nothing in the object can raise.
    """
    spec = raw.get("spec")
    if not isinstance(spec, dict):
        return INTERMEDIATE if spec is None else MODERN
    found = _profile(spec.get("tlsSecurityProfile"))
    adherence = spec.get("tlsAdherence") or ""
    if adherence in _LEGACY and found.minimum < INTERMEDIATE.minimum:
        return INTERMEDIATE
    return found


def _profile(given: object) -> Profile:
    if given is None:
        return INTERMEDIATE
    if not isinstance(given, dict):
        return MODERN
    kind = given.get("type") or ""
    if kind == "Custom":
        return _custom(given.get("custom"))
    if kind == "":
        return INTERMEDIATE
    return _NAMED.get(kind, MODERN) if isinstance(kind, str) else MODERN


def _custom(given: object) -> Profile:
    if not isinstance(given, dict):
        return MODERN
    version, names = given.get("minTLSVersion"), given.get("ciphers")
    minimum = _VERSIONS.get(version) if isinstance(version, str) else None
    if minimum is None or not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return MODERN
    ciphers = tuple(name for name in names if _is_name(name) and not name.startswith(_TLS13_PREFIX))
    if minimum == ssl.TLSVersion.TLSv1_3 or not ciphers:
        return Profile("Custom", ssl.TLSVersion.TLSv1_3)
    return Profile("Custom", minimum, ciphers)


def _is_name(name: str) -> bool:
    """A name and nothing else: OpenSSL's list also knows ALL, !this, +that and @SECLEVEL=0, which are no ciphers."""
    return name.isascii() and "-" in name[1:-1] and name.replace("-", "").isalnum() and name[0] != "-"
