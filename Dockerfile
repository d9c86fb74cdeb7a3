# Three stages: wheels of what is locked, this project on top, and an image that has neither pip nor a compiler.
# The build needs network for the first stage only. The image runs as any UID, with group 0 and a read-only root.

ARG BASE=registry.access.redhat.com/ubi9/python-312-minimal

FROM ${BASE} AS dependencies
USER 0
WORKDIR /build
COPY requirements.lock .
RUN python3.12 -m venv /opt/operator \
 && /opt/operator/bin/pip install --no-cache-dir --no-compile --only-binary :all: --require-hashes -r requirements.lock

FROM dependencies AS project
COPY pyproject.toml README.md LICENSE ./
COPY requirements-build.lock .
RUN python3.12 -m venv /opt/build \
 && /opt/build/bin/pip install --no-cache-dir --only-binary :all: --require-hashes -r requirements-build.lock
COPY api api
COPY controller controller
COPY bindata bindata
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /build/dist . \
 && /opt/operator/bin/pip install --no-cache-dir --no-compile --no-deps --no-index /build/dist/*.whl \
 # Without byte code a start takes 2 s instead of 0.35 s, and a read-only root never gets any.
 && /opt/operator/bin/pip uninstall --yes pip \
 && python3.12 -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/operator/lib \
 && chmod -R g=u,o=rX /opt/operator

FROM ${BASE}
LABEL name="cluster-topology-operator" \
      summary="Lets a single-node OpenShift cluster grow" \
      io.k8s.display-name="Cluster Topology Operator" \
      io.openshift.tags="openshift,topology" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=project /opt/operator /opt/operator
COPY LICENSE /licenses/LICENSE
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HOME=/tmp PATH=/opt/operator/bin:$PATH
WORKDIR /
USER 65532:0
ENTRYPOINT ["/opt/operator/bin/cluster-topology-operator"]
