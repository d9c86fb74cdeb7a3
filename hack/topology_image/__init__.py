"""The image without a container engine, and what is known about what is in it.

dockerfile    reads the Dockerfile: stages, steps, variables; renews its base (`make base`)
sandbox       one process in a root folder of its own, as a container would have it
builder       performs the Dockerfile's own lines, each in such a sandbox; the result is a folder for each stage
layer_rules   what has to hold of the files of the application layer
running       what has to hold when they run: another UID, nothing writable, no shell, a whole transition
check         all of it, as `make image-check`

locks         the locked files, also against known vulnerabilities (`make audit`)
bom           what is in the layer, as CycloneDX (`make sbom`)
licences      which licences that is, and the table of docs/development/image.md

`python -m topology_image --help` lists the commands.
"""
