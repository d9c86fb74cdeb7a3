# Three stages: what is locked, this project on top of it, and an image that has neither pip nor a compiler.
# What is chosen here and why, and how to build: docs/development/image.md. `make image-check` performs these very lines in a folder.
#
# A release names the base by digest: `make base` writes it into this line; the tag alone is for trying it out.
ARG BASE=registry.access.redhat.com/ubi9/python-312-minimal:9.8

FROM ${BASE} AS dependencies
# The interpreter of the base itself: its virtual environment is not what runs at the end.
ARG PYTHON=/usr/bin/python3.12
# hadolint ignore=DL3002 # this stage and the next one are not shipped
USER 0
WORKDIR /build
COPY requirements-build.lock requirements.lock ./
# hadolint ignore=DL3042 # no stage with a cache is shipped, and a cache makes the next build faster
RUN "${PYTHON}" -m venv /opt/build \
 && /opt/build/bin/pip install --no-compile --only-binary :all: --require-hashes -r requirements-build.lock
# The second environment never gets a pip of its own, so that none has to be taken out of it.
# hadolint ignore=DL3042,DL3059 # the same; and two layers, so that the first one is kept when the second changes
RUN "${PYTHON}" -m venv --without-pip /opt/operator \
 && /opt/build/bin/pip --python /opt/operator/bin/python install --no-compile --only-binary :all: \
    --require-hashes --report /build/installed.json -r requirements.lock

FROM dependencies AS project
# VERSION is PEP 440, such as 0.2.0+g1a2b3c4d5e6f; without it, what _version.py says.
ARG VERSION=""
ARG SOURCE_DATE_EPOCH=0
# The operator alone: pyproject.toml of the checkout is the whole project, with the tools.
COPY controller/pyproject.toml README.md LICENSE ./
COPY api api
COPY controller/topology_controller controller/topology_controller
COPY bindata bindata
# hadolint ignore=DL3042 # the same
RUN if [ -n "${VERSION}" ]; then /opt/build/bin/hatchling version "${VERSION}"; fi \
 && /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
 && /opt/build/bin/pip --python /opt/operator/bin/python install --no-compile --no-deps --no-index \
    --find-links dist cluster-topology-operator
# What is not started, imported or read in a container goes: programs of libraries, tests, sources of C and manuals. A
# read-only root never gets byte code later, and without it a start takes several times as long; unchecked, because the
# files of an image cannot change; a fixed seed, because sets are written in its order. The typed API, which the operator
# never imports, stays as source only: its byte code would be a fifth of the layer.
RUN find /opt/operator/bin -type f ! -name cluster-topology-operator -delete \
 && find /opt/operator/lib -type f -regextype posix-extended \
    -regex '.*(_test\.py|/test_[^/]*\.pyi?|\.pyi|\.pyx|\.pxd|\.[ch]|/_testcapi\..*\.so|/(tests|testing)/.*)' -delete \
 && find /opt/operator/lib -type f -name '*.md' ! -path '*.dist-info/*' -delete \
 && find /opt/operator/lib -type d -empty -delete \
 && PYTHONHASHSEED=0 /opt/operator/bin/python -m compileall -f -q --invalidation-mode unchecked-hash \
    -x '/kubernetes_asyncio/client/(api|models)/' /opt/operator/lib \
 && chmod -R u=rwX,go=rX /opt/operator LICENSE bindata \
 && find /opt/operator LICENSE bindata -exec touch --no-dereference --date="@${SOURCE_DATE_EPOCH}" {} +

FROM ${BASE} AS final
ARG VERSION=""
ARG COMMIT=""
WORKDIR /
USER 0
# The base is made for building: its environment with pip, its build scripts, and the wheel that pip could come back from.
RUN rm -rf /opt/app-root /usr/libexec/s2i /usr/share/python3.12-wheels
# The stage before has set the modes; those of a checkout are what its umask left.
COPY --from=project /opt/operator /opt/operator
COPY --from=project /build/LICENSE /licenses/LICENSE
# Where a release payload looks for them, because of io.openshift.release.operator.
COPY --from=project /build/bindata/manifests/ /build/bindata/monitoring/*.yaml /manifests/
LABEL name="cluster-topology-operator" \
      version="${VERSION}" \
      summary="Lets a single-node OpenShift cluster grow" \
      description="Proves that a cluster can carry another topology, moves it in one guarded write, and tells what follows" \
      usage="what to apply to a cluster is in /manifests, and printed by the installed program" \
      vendor="Cluster Topology Operator" \
      maintainer="Cluster Topology Operator" \
      com.redhat.component="cluster-topology-operator-container" \
      io.k8s.display-name="Cluster Topology Operator" \
      io.k8s.description="Proves that a cluster can carry another topology, moves it in one guarded write, and tells what follows" \
      io.openshift.tags="openshift,topology" \
      io.openshift.expose-services="8443:https" \
      io.openshift.release.operator="true" \
      io.openshift.build.commit.id="${COMMIT}" \
      org.opencontainers.image.title="cluster-topology-operator" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.licenses="Apache-2.0"
# The empty ones are the base's, and name files that are gone.
ENV PATH=/opt/operator/bin:/usr/bin:/bin HOME=/tmp PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    BASH_ENV="" ENV="" PROMPT_COMMAND="" APP_ROOT="" STI_SCRIPTS_PATH=""
EXPOSE 8443
# Any UID will do; group 0 can read everything, and nothing needs to be written.
USER 65532:0
ENTRYPOINT ["/opt/operator/bin/cluster-topology-operator"]
CMD ["--help"]
