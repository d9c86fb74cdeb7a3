"""The real API server publishes the CA of its clients, and knows whoever that CA has signed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aiohttp
import pytest

from test import polling
from topology_simulator import client as clients
from topology_simulator import kinds, kubeconfig
from topology_simulator.envtest import server
from topology_simulator.etcd import certificates

if TYPE_CHECKING:
    import pathlib
    import ssl

pytestmark = pytest.mark.usefixtures("real_binaries")
_REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_NAME = "system:serviceaccount:openshift-monitoring:prometheus-k8s"
_SECONDS = 10.0


async def test_it_publishes_the_authority_and_knows_its_clients(tmp_path: pathlib.Path) -> None:
    async with server.RealServer() as real:
        access = kubeconfig.access(real.kubeconfig(), real.folder)
        async with clients.Client(access) as api:

            async def published() -> object:
                found = await api.find(kinds.CONFIG_MAPS, "extension-apiserver-authentication", "kube-system")
                return (found or {}).get("data", {}).get("client-ca-file")

            found = await polling.until("the authority is published", published)
        assert found == real.client_authority.certificate.decode()
        folder = certificates.write(tmp_path, b"", real.client_authority.client(_NAME))
        tls = real.tls()
        tls.load_cert_chain(folder / certificates.CERTIFICATE_FILE, folder / certificates.KEY_FILE)
        assert await _known_as(real, tls) == _NAME


async def _known_as(real: server.RealServer, tls: ssl.SSLContext) -> str:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    timeout = aiohttp.ClientTimeout(total=_SECONDS)
    async with (
        aiohttp.ClientSession(timeout=timeout, raise_for_status=True) as session,
        session.post(real.url + _REVIEW, json=body, ssl=tls) as response,
    ):
        answer = await response.json()
    return str(answer["status"]["userInfo"]["username"])
