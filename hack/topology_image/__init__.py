"""The image without a container engine, and what is known about what is in it.

sandbox       one process in a root folder of its own, as a container would have it
builder       reads the Dockerfile and performs its lines, each in such a sandbox; renews its base (`make base`)
layer_rules   what has to hold of the files of the application layer
running       what has to hold when they run: another UID, nothing writable, no shell, a whole transition
check         all of it, as `make image-check`

locks         the locked files, their licences, and known vulnerabilities (`make audit`)
bom           what is in the layer, as CycloneDX (`make sbom`)

`python -m topology_image --help` lists the commands.
"""


class ImageError(Exception):
    """What was wanted was not done; the message says why."""

    code = 1
    """The exit code of the program."""
