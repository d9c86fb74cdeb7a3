"""What the operator serves HTTPS with: signed by one CA, shown to who trusts it, and only known clients come in."""

from __future__ import annotations

import asyncio
import contextlib
import ssl

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from topology_simulator import client, kinds, serving


@pytest.fixture
def made(tmp_path):
    return serving.Serving(tmp_path, serving.authority())


def common_name(path):
    subject = x509.load_pem_x509_certificate(path.read_bytes()).subject
    return subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value


@contextlib.asynccontextmanager
async def listening(made, clients):
    """Serve with the certificate, to clients of this CA only, and tell each its own name."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(made.certificates / "tls.crt", made.certificates / "tls.key")
    context.load_verify_locations(cadata=clients.certificate.decode())
    context.verify_mode = ssl.CERT_REQUIRED

    async def tell(_, writer):
        subject = dict(one[0] for one in writer.get_extra_info("peercert")["subject"])
        writer.write(subject["commonName"].encode())
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(tell, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def asked(port, tls, name=None):
    async with asyncio.timeout(5.0):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls, server_hostname=name)
        try:
            return (await reader.read()).decode()
        finally:
            writer.close()


async def test_prometheus_comes_in_by_the_name_of_the_service(tmp_path):
    clients = serving.authority()
    made = serving.Serving(tmp_path, clients)
    scraper = made.scraper()
    assert common_name(scraper.certificate) == serving.PROMETHEUS
    async with listening(made, clients) as port:
        assert await asked(port, scraper.tls(), serving.SERVER_NAME) == serving.PROMETHEUS
        assert await asked(port, scraper.tls(), "127.0.0.1") == serving.PROMETHEUS


async def test_who_asks_for_another_name_is_not_served(tmp_path):
    clients = serving.authority()
    made = serving.Serving(tmp_path, clients)
    async with listening(made, clients) as port:
        with pytest.raises(ssl.SSLCertVerificationError):
            await asked(port, made.scraper().tls(), "somebody.else.svc")


async def test_a_client_of_another_authority_is_not_let_in(tmp_path, made):
    clients = serving.authority()
    own = serving.Serving(tmp_path / "own", clients)
    async with listening(own, clients) as port:
        stranger = ssl.create_default_context(cafile=str(own.scraper().authority))
        theirs = made.scraper()
        stranger.load_cert_chain(theirs.certificate, theirs.key)
        told = ""
        # When a client learns that it was refused depends on the version of TLS: at once, or when it reads.
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            told = await asked(port, stranger, serving.SERVER_NAME)
        assert not told


def test_a_renewed_certificate_is_another_one_of_the_same_authority(made):
    file = made.certificates / "tls.crt"
    before, trusted = file.read_bytes(), made.scraper().authority.read_bytes()
    made.renew()
    assert file.read_bytes() != before
    assert made.scraper().authority.read_bytes() == trusted


def test_each_client_has_a_folder_of_its_own(made):
    one, other = made.scraper("system:one"), made.scraper("system:other")
    assert one.folder != other.folder
    assert (common_name(one.certificate), common_name(other.certificate)) == ("system:one", "system:other")


async def test_the_authority_of_clients_is_published_as_kube_apiserver_does(api):
    clients = serving.authority()
    await serving.publish(api, clients)
    found = await api.get(kinds.CONFIG_MAPS, "extension-apiserver-authentication", "kube-system")
    assert found["data"] == {"client-ca-file": clients.certificate.decode()}
    with pytest.raises(client.ApiError, match="already exists"):
        await serving.publish(api, serving.authority())
