"""TLS of the server: the serving certificate, the client CA and the TLS profile, and a context made of the three.

The profiles (bindata/tls-profiles.json) are those of openshift/api (config/v1/types_tlssecurityprofile.go), whose
ciphers have OpenSSL's names already. A context in use is never changed: `server` takes the newest for each new
connection. What cannot be used is logged once, and the last good one stays in use. Until the objects were read, the
strictest holds: TLS 1.3, and no client certificate counts.
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import bindata, mounted
from ..kube import reflector
from ..kube import resource as resources

if TYPE_CHECKING:
    import pathlib

    from ..kube import client as clients
    from ..kube import watch

_LOG = logging.getLogger(__name__)
_API_SERVERS = resources.Resource("config.openshift.io", "v1", "apiservers", "APIServer")
_CONFIG_MAPS = resources.Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
API_SERVER = resources.Selection(_API_SERVERS, name="cluster", optional=True)
CLIENT_CA = resources.Selection(_CONFIG_MAPS, namespace="kube-system", name="extension-apiserver-authentication")
CERTIFICATE, KEY = "tls.crt", "tls.key"
PERIOD = 5.0  # seconds between two looks at the certificate folder
_LEGACY = ("", "LegacyAdheringComponentsOnly")
_VERSIONS = {
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}


@dataclass(frozen=True, slots=True)
class Profile:
    """A lowest version, and the ciphers (OpenSSL's names) below TLS 1.3; none: TLS 1.3 only."""

    name: str
    minimum: ssl.TLSVersion
    ciphers: tuple[str, ...] = ()


_NAMED = {
    name: Profile(name, _VERSIONS[row["minTLSVersion"]], tuple(row["ciphers"]))
    for name, row in json.loads((bindata.root() / "tls-profiles.json").read_text(encoding="utf-8")).items()
}
OLD, INTERMEDIATE, MODERN = (_NAMED[name] for name in ("Old", "Intermediate", "Modern"))


def wanted(raw: dict[str, Any]) -> Profile:
    """Return the profile that a raw APIServer asks for; for what is not known Modern, the strictest."""
    spec = raw.get("spec")
    if not isinstance(spec, dict):
        return INTERMEDIATE if spec is None else MODERN
    profile = _profile(spec.get("tlsSecurityProfile"))
    adherence = spec.get("tlsAdherence") or ""
    # Source: library-go pkg/crypto, ShouldHonorClusterTLSProfile.
    if adherence in _LEGACY and profile.minimum < INTERMEDIATE.minimum:
        return INTERMEDIATE
    return profile


def _profile(given: object) -> Profile:
    if given is None or (isinstance(given, dict) and not given.get("type")):
        return INTERMEDIATE
    match given:
        case {"type": "Custom", "custom": {"minTLSVersion": str(version), "ciphers": list(names)}}:
            minimum = _VERSIONS.get(version)
            if minimum is None or not all(isinstance(name, str) for name in names):
                return MODERN
            ciphers = tuple(name for name in names if _is_cipher(name) and not name.startswith("TLS_"))
            if minimum == ssl.TLSVersion.TLSv1_3 or not ciphers:
                return Profile("Custom", ssl.TLSVersion.TLSv1_3)
            return Profile("Custom", minimum, ciphers)
        case {"type": str(kind)}:
            return _NAMED.get(kind, MODERN)
    return MODERN


def _is_cipher(name: str) -> bool:
    """A name and nothing else: OpenSSL's list also knows ALL, !this, +that and @SECLEVEL=0, which are no ciphers."""
    return name.isascii() and "-" in name[1:-1] and name.replace("-", "").isalnum() and name[0] != "-"


def make(pair: tuple[bytes, ...], client_ca: str, profile: Profile) -> ssl.SSLContext:
    """Make a context; without a `client_ca` ("") no certificate is asked for. Raises OSError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    with warnings.catch_warnings():
        # Python advises against TLS 1.0 and 1.1: only a profile can ask for them.
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = profile.minimum
    # OpenSSL 3 signs no handshake below TLS 1.2 at any other level: they sign with SHA-1.
    level = ":@SECLEVEL=0" if profile.minimum < ssl.TLSVersion.TLSv1_2 else ""
    try:
        if profile.ciphers:
            context.set_ciphers(":".join(profile.ciphers) + level)
        mounted.load_pair(context, *pair)
    except (OSError, ValueError) as error:
        raise OSError(f"{CERTIFICATE} and {KEY} cannot be used: {mounted.tls_reason(error)}") from None
    if client_ca:
        context.load_verify_locations(cadata=client_ca)
        context.verify_mode = ssl.CERT_OPTIONAL
        # As in kube-apiserver: each certificate of the bundle is an anchor, also without the one above it.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


class ServingTLS:
    """`current` is the newest context that could be made; certificate folder, client CA and profile are followed.

    The folder is read every `period` seconds. Raises OSError without a usable pair at first.
    """

    def __init__(
        self,
        client: clients.Client,
        folder: pathlib.Path,
        *,
        period: float = PERIOD,
        timing: watch.Timing | None = None,
    ) -> None:
        self._folder, self._period = folder, period
        self._pair = mounted.read(folder, CERTIFICATE, KEY)
        self._ca = ""
        self._wanted = (self._pair, "", MODERN)
        self._problems: dict[str, str] = {}
        self.current = make(self._pair, "", MODERN)
        self._api_server: reflector.Reflector[Profile] = reflector.Reflector(
            client, API_SERVER, wanted, self._changed, malformed=lambda *_: MODERN, timing=timing
        )
        self._client_ca: reflector.Reflector[str] = reflector.Reflector(
            client, CLIENT_CA, _bundle, self._changed, malformed=lambda *_: "", timing=timing
        )
        self._watched = dict[str, reflector.Reflector[Any]](apiserver=self._api_server, client_ca=self._client_ca)

    def renew(self, client_ca: str, profile: Profile) -> bool:
        """Read the folder again; return whether a new context was made. `client_ca` is in PEM, "" for none."""
        try:
            pair = mounted.read(self._folder, CERTIFICATE, KEY)
            if pair != self._pair:
                make(pair, "", MODERN)
                _LOG.info("the serving certificate in %s was replaced", self._folder)
                self._pair = pair
            self._log("certificate", "")
        except OSError as error:
            self._log("certificate", f"{error}; going on with the certificate that was read before")
        wanted = (self._pair, client_ca, profile)
        if wanted == self._wanted:
            return False
        self._wanted = wanted
        try:
            make(self._pair, client_ca, MODERN)
        except (OSError, ValueError) as error:
            why = mounted.tls_reason(error)
            self._log("ca", f"the client CA cannot be used: {why}; going on with the one before")
        else:
            self._log("ca", "")
            self._ca = client_ca
        problem = ""
        try:
            self.current = make(self._pair, self._ca, profile)
        except OSError as error:
            # The pair was good a moment ago: it is the profile.
            problem = f"TLS profile {profile.name} cannot be used, so TLS 1.3 it is: {error}"
            self.current = make(self._pair, self._ca, MODERN)
        self._log("profile", problem)
        return True

    def _log(self, subject: str, problem: str, over: str = "") -> None:
        """Log a problem when it differs from the one before, and what is to be said when it is over; "" is none."""
        before, self._problems[subject] = self._problems.get(subject), problem
        if problem and problem != before:
            _LOG.warning("%s", problem)
        elif over and before and not problem:
            _LOG.info("%s", over)

    @property
    def profile(self) -> Profile:
        """The profile that was read last; Modern before that, Intermediate where there is no such object."""
        if not self._api_server.synced:
            return MODERN
        return next(iter(self._api_server.objects.values()), INTERMEDIATE)

    def last_activity(self) -> dict[str, float]:
        """Unix time of the last sign of life of each watch; 0 before the first."""
        return {name: watched.last_activity for name, watched in self._watched.items()}

    async def run(self) -> None:
        """Follow all three until cancelled."""
        async with asyncio.TaskGroup() as group:
            for name, watched in self._watched.items():
                group.create_task(watched.run(), name=f"watch {name}")
            while True:
                await asyncio.sleep(self._period)
                self._renew()

    def _changed(self) -> None:
        for watched in self._watched.values():
            problem = f"cannot watch {watched.selection}: {watched.error}; going on with what was read last"
            self._log(str(watched.selection), problem if watched.error else "", f"watching {watched.selection} again")
        self._renew()

    def _renew(self) -> None:
        self.renew(next(iter(self._client_ca.objects.values()), ""), self.profile)


def _bundle(raw: dict[str, Any]) -> str:
    text = (raw.get("data") or {}).get("client-ca-file") or ""
    if not isinstance(text, str):
        raise TypeError("client-ca-file is not text")
    return text
