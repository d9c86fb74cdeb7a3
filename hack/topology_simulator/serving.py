"""What the operator's HTTPS needs from the cluster around it: a serving certificate, and a CA of clients.

On OpenShift the service CA and kube-apiserver have them. Here `Serving` is the folder for `--serving-cert-dir`,
`Scraper` what a client with a certificate needs, as the cluster's Prometheus does. A real kube-apiserver publishes its
CA of clients itself; for the embedded one `publish` does.
"""

import pathlib
import ssl
from dataclasses import dataclass

from . import client, kinds
from .etcd import certificates

PROMETHEUS = "system:serviceaccount:openshift-monitoring:prometheus-k8s"
"""Common name of the certificate that the cluster's Prometheus scrapes with."""
SERVER_NAME = "cluster-topology-operator.openshift-topology-operator.svc"
"""The name that the service CA certifies, which scrapers ask for."""
_NAMESPACE, _CONFIG_MAP, _KEY = "kube-system", "extension-apiserver-authentication", "client-ca-file"


@dataclass(frozen=True, slots=True)
class Scraper:
    """How to come in with a certificate: a folder with `tls.crt` and `tls.key`, and `ca.crt` of who serves."""

    folder: pathlib.Path

    @property
    def authority(self) -> pathlib.Path:
        """The CA that signed the serving certificate."""
        return self.folder / certificates.CA_FILE

    @property
    def certificate(self) -> pathlib.Path:
        """The client's certificate."""
        return self.folder / certificates.CERTIFICATE_FILE

    @property
    def key(self) -> pathlib.Path:
        """Its key."""
        return self.folder / certificates.KEY_FILE

    def tls(self) -> ssl.SSLContext:
        """Return a client's context that verifies the server and shows this certificate."""
        context = ssl.create_default_context(cafile=str(self.authority))
        context.load_cert_chain(self.certificate, self.key)
        return context


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

    def scraper(self, name: str = PROMETHEUS) -> Scraper:
        """Return a client certificate of this name."""
        folder = self._folder / f"client-{name.replace(':', '-')}"
        return Scraper(certificates.write(folder, self._services.certificate, self._clients.client(name)))


def authority() -> certificates.Authority:
    """Return a new CA that signs clients of a cluster."""
    return certificates.Authority("kube-apiserver-client-signer")


async def publish(api: client.Client, clients: certificates.Authority) -> None:
    """Put the CA of clients where kube-apiserver puts its own. Raises ClientError, 409 where there is one."""
    config_map = kinds.CONFIG_MAPS.new(_CONFIG_MAP, _NAMESPACE, data={_KEY: clients.certificate.decode()})
    await api.create(kinds.CONFIG_MAPS, config_map)
