"""The image without a container engine, and what is known about what is in it.

dockerfile    reads the Dockerfile: stages, steps, variables
sandbox       one process in a root folder of its own, as a container would have it
builder       performs the Dockerfile's own lines, each in such a sandbox; the result is a folder for each stage
layer_rules   what has to hold of the files of the application layer
running       what has to hold when they run: another UID, nothing writable, no shell, a whole transition
check         all of it, as `make image-check`

locks         the locked files as they are read here
bom           what is in the layer, as CycloneDX (`make sbom`)
licences      which licences that is, and the table of docs/development/image.md
audit         the locked files against known vulnerabilities (`make audit`)

`python -m topology_image --help` lists the commands.
"""
