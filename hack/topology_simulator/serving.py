"""What the operator's HTTPS needs from the cluster around it: a serving certificate, and a CA of clients.

On OpenShift the service CA and kube-apiserver have them. Here `Serving` has the folder for `--serving-cert-dir`, and
what a client with a certificate needs, as the cluster's Prometheus does. A real kube-apiserver publishes its CA of
clients itself; for the embedded one `publish` does.
"""

import pathlib
import ssl

from . import client, kinds
from .etcd import certificates

PROMETHEUS = "system:serviceaccount:openshift-monitoring:prometheus-k8s"
"""Common name of the certificate that the cluster's Prometheus scrapes with."""
SERVER_NAME = "cluster-topology-operator.openshift-topology-operator.svc"
"""The name that the service CA certifies, which scrapers ask for."""
_NAMESPACE, _CONFIG_MAP, _KEY = "kube-system", "extension-apiserver-authentication", "client-ca-file"


class Serving:
    """The serving certificate of one operator, in `folder`, and who may come in.

    `clients` signs clients; it is the cluster's own. `renew` puts a new certificate of the same CA in its place.
    """

    def __init__(self, folder: pathlib.Path, clients: certificates.Authority) -> None:
        self._folder = folder
        self._services = certificates.Authority("openshift-service-serving-signer")
        self._clients = clients
        self.certificates = folder / "serving"
        """For --serving-cert-dir."""
        self.renew()

    def renew(self) -> None:
        """Write a new serving certificate of the same CA over the present one."""
        pair = self._services.member(SERVER_NAME, (*certificates.LOOPBACK, SERVER_NAME))
        certificates.write(self.certificates, self._services.certificate, pair)

    def scraper(self, name: str = PROMETHEUS) -> pathlib.Path:
        """Return a folder with a client certificate of this name, and the CA of who serves."""
        folder = self._folder / f"client-{name.replace(':', '-')}"
        return certificates.write(folder, self._services.certificate, self._clients.client(name))

    def tls(self, name: str = PROMETHEUS) -> ssl.SSLContext:
        """Return a client's context that verifies the server and shows a certificate of this name."""
        return certificates.tls(self.scraper(name))


def authority() -> certificates.Authority:
    """Return a new CA that signs clients of a cluster."""
    return certificates.Authority("kube-apiserver-client-signer")


async def publish(api: client.Client, clients: certificates.Authority) -> None:
    """Put the CA of clients where kube-apiserver puts its own. Raises ClientError, 409 where there is one."""
    config_map = kinds.CONFIG_MAPS.new(_CONFIG_MAP, _NAMESPACE, data={_KEY: clients.certificate.decode()})
    await api.create(kinds.CONFIG_MAPS, config_map)
