"""Updates in the lab: payloads for the real version operator to go to, and our pod, which an update replaces.

It looks for a payload in a folder that is named by the image, and makes a pod that fetches it only where that is
missing (cluster-version-operator pkg/cvo/updatepayload.go targetUpdatePayloadDir, release-4.22): here it never is. That
place is below /etc, so it runs in a mount namespace in which it leads to the folder of the run. It forces no update, as
objections would not count then, so payloads are signed (library-go pkg/verify/configmap.go), by a key of the run. They
bring Infrastructure with our fields, and no override is set: that alone would object. It is not replaced itself.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import yaml

from topology_deploy import manifests
from topology_simulator import kinds, own_objects
from topology_simulator.actors import version
from topology_simulator.envtest import openshift

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Collection

    from topology_simulator import client, operator_process
    from topology_simulator.actors import hub

_ELSEWHERE = """mount --rbind /etc "$1/etc" && mount -t tmpfs none /etc && ln -s "$1"/etc/* /etc/ &&
mkdir /etc/cvo && ln -s "$1/updatepayloads" /etc/cvo/updatepayloads && shift && exec "$@"
"""
_NOTES = {
    "release.openshift.io/verification-config-map": "",
    "include.release.openshift.io/self-managed-high-availability": "true",
}


def prepared(folder: pathlib.Path, command: list[str], current: str, versions: Collection[str]) -> list[str]:
    """Write payloads beside the one in `folder`, and return the command that starts the version operator with them.

    Raises FileNotFoundError where there is no gpg, subprocess.CalledProcessError when it does not sign.
    """
    payload, home = folder / "payload", folder / "gpg"
    home.mkdir(mode=0o700)
    (folder / "etc").mkdir()
    _run("gpg", home, "--quick-generate-key", "lab", "rsa2048", "sign", "never")
    keys = kinds.CONFIG_MAPS.new("release-verification", "openshift-config-managed")
    keys["metadata"]["annotations"] = _NOTES
    public = _run("gpg", home, "--armor", "--export", "lab").decode()
    keys["data"] = {"verifier-public-key-lab": public, "store-lab": f"file://{folder}/signatures"}
    (ours,) = (each for each in openshift.definitions() if each["metadata"]["name"] == manifests.OVERRIDE["name"])
    for name, obj in (("0000_10_infrastructures.crd", ours), ("0000_90_verification", keys)):
        (payload / "release-manifests" / f"{name}.yaml").write_text(yaml.safe_dump(obj), encoding="utf-8")
    for wanted in versions:
        image = version.release(wanted)["image"]
        place = hashlib.md5(image.encode(), usedforsecurity=False).digest()
        copy = folder / "updatepayloads" / base64.urlsafe_b64encode(place).decode().rstrip("=")
        shutil.copytree(payload, copy)
        for file in (each for each in copy.rglob("*") if each.is_file()):
            file.write_text(file.read_text(encoding="utf-8").replace(current, wanted), encoding="utf-8")
        digest = image.partition("@")[2]
        critical = {"type": "atomic container signature", "image": {"docker-manifest-digest": digest}}
        signed = json.dumps({"critical": critical | {"identity": {"docker-reference": image}}})
        signature = folder / "signatures" / digest.replace(":", "=") / "signature-1"
        signature.parent.mkdir(parents=True)
        signature.write_bytes(_run("gpg", home, "--sign", text=signed.encode()))
    _run("gpgconf", home, "--kill", "gpg-agent")
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", _ELSEWHERE, "sh", str(folder), *command]


def _run(program: str, home: pathlib.Path, *words: str, text: bytes = b"") -> bytes:
    always = () if program == "gpgconf" else ("--batch", "--passphrase", "", "--pinentry-mode", "loopback")
    command = [program, "--homedir", home, *always, *words]
    return subprocess.run(command, input=text, capture_output=True, check=True).stdout  # noqa: S603 - ours


async def replace_pod(
    api: client.Client, ours: operator_process.Operator, actors: hub.Actors, versions: Collection[str], seconds: float
) -> None:
    """Replace our process, as its kubelet does, once its Deployment has one of `versions` and no update is held."""
    while True:
        deployment = await api.get(kinds.DEPLOYMENTS, own_objects.NAME, own_objects.NAMESPACE)
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        wanted = next(each["value"] for each in container["env"] if each["name"] == "RELEASE_VERSION")
        if wanted in versions and wanted != os.environ["RELEASE_VERSION"] and not actors.updating:
            os.environ["RELEASE_VERSION"] = wanted
            await ours.evict(seconds)
        await asyncio.sleep(1.0)
