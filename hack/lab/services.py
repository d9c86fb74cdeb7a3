"""What answers behind Services, pods and the route of a real authentication operator: one server, at any address.

None of them leads anywhere in the lab. The operator has a proxy, and so has kube-apiserver, for Services that serve API
groups (k8s.io/client-go transport/cache.go, 1.36). Behind it is an API server of the simulator: it serves
oauth.openshift.io and user.openshift.io, as openshift-oauth-apiserver, and answers /healthz, as oauth-openshift, also
for a pod that is gone (cluster-authentication-operator pkg/operator/starter.go, pkg/controllers/oauthendpoints, 4.22).
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from topology_simulator.apiserver import server as embedded
from topology_simulator.envtest import server
from topology_simulator.etcd import certificates, keeping

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

(PORT,) = keeping.free_ports(1)


class Server(server.RealServer):
    """kube-apiserver with that proxy; its certificate is good for what is behind it, too."""

    hosts = (
        *certificates.LOOPBACK, "api.openshift-oauth-apiserver.svc", "oauth-openshift.openshift-authentication.svc",
        "oauth-openshift.apps.edge.example.com",
    )  # fmt: skip

    def _api_command(self, name: str) -> list[str]:
        return ["/usr/bin/env", f"HTTPS_PROXY=http://127.0.0.1:{PORT}", *super()._api_command(name)]


class Behind(embedded.ApiServer):
    """The proxy, to each connection (CONNECT), and then what is behind it."""

    async def _greet(self, connection: socket.socket, served: Callable[[], asyncio.BaseProtocol]) -> None:
        connection.settimeout(0.0)
        with contextlib.suppress(OSError):
            await asyncio.get_running_loop().sock_recv(connection, 1 << 16)
            await asyncio.get_running_loop().sock_sendall(connection, b"HTTP/1.1 200 OK\r\n\r\n")
            await super()._greet(connection, served)
