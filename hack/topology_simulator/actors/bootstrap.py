"""Machines that wait for their certificates: a kubelet asks for one, registers its node with it, and asks for the next.

As on a real cluster, there are two requests for each node, one after the other: that of the client, which the machine's
bootstrap account makes, and that of the server, which the node itself makes (kubernetes/kubernetes
pkg/kubelet/certificate/bootstrap). Both wait for a person. No certificate is signed: that one is approved is enough.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from topology_simulator import client, conditions, kinds, pace

from . import actor, kubelets

_CLIENT = ("kubernetes.io/kube-apiserver-client-kubelet", ["digital signature", "client auth"])
_SERVER = ("kubernetes.io/kubelet-serving", ["digital signature", "server auth"])


class Bootstrap(actor.Actor):
    """The kubelets of these machines, until their nodes are there."""

    agent = "kubelet-bootstrap"
    watched = (kinds.SIGNING_REQUESTS, kinds.NODES)

    def __init__(self, api: client.Client, names: Iterable[str], speeds: pace.Pace) -> None:
        super().__init__(api, speeds)
        self._names = tuple(names)

    async def step(self) -> None:
        """Ask for the first certificate, register once it is approved, and ask for the second."""
        for name in self._names:
            if self.mirror.get(kinds.NODES, name) is not None:
                await self._ask(name, "server", *_SERVER)
            elif await self._ask(name, "client", *_CLIENT):
                await kubelets.join(self.api, name)

    async def _ask(self, node: str, whose: str, signer: str, usages: list[str]) -> bool:
        """Whether this request is approved; it is made first where there is none."""
        name = f"csr-{node}-{whose}"
        request = self.mirror.get(kinds.SIGNING_REQUESTS, name)
        if request is None:
            spec = {"request": _request(node), "signerName": signer, "usages": usages}
            stored = await self.api.create(kinds.SIGNING_REQUESTS, kinds.SIGNING_REQUESTS.new(name, spec=spec))
            self.mirror.keep(kinds.SIGNING_REQUESTS, stored)
        return conditions.is_true(request, "Approved")


def _request(node: str) -> str:
    """Return what is to be signed, as the API has it: PEM in base64."""
    key = ec.generate_private_key(ec.SECP256R1())
    names: Any = [(NameOID.ORGANIZATION_NAME, "system:nodes"), (NameOID.COMMON_NAME, f"system:node:{node}")]
    subject = x509.Name([x509.NameAttribute(oid, text) for oid, text in names])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject)
    request = request.add_extension(x509.SubjectAlternativeName([x509.DNSName(node)]), critical=False)
    return base64.b64encode(request.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)).decode()
