# Workers of every lane and the janitor, with Kokoro and the small voice. Build arguments choose the device and the engines:
#   docker build --file docker/worker.Dockerfile --tag rhapsode-worker:cpu .
#   docker build --file docker/worker.Dockerfile --build-arg VARIANT=cuda --tag rhapsode-worker:cuda .
#   ... --build-arg EXTRAS=worker,kokoro,listening with a recogniser for the quality gate `asr`
ARG BASE=debian:bookworm-slim
ARG VARIANT=cpu

FROM ${BASE} AS python-cpu
# The release's own Python, 3.11, on which the tests run. Versions follow the base image's release.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates python3 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*

FROM python-cpu AS python-cuda
# Triton compiles the launcher of each kernel when a worker starts. CUDA itself comes with PyTorch's wheels, the driver
# with the host.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev python3-dev \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility

# hadolint ignore=DL3006
FROM python-${VARIANT} AS python

FROM python AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends binutils python3-venv \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
ARG VARIANT
ARG EXTRAS=worker,kokoro
ARG CPU_WHEELS=https://download.pytorch.org/whl/cpu
WORKDIR /src
RUN python3 -m venv --without-pip /opt/rhapsode && python3 -m venv /opt/pip
COPY constraints.txt pyproject.toml docker/requirements.py docker/pins/storage.txt docker/pins/kokoro.txt ./
# A wheel for the CPU has a higher version (+cpu) than the one with CUDA, so naming its index chooses it.
RUN if [ "${VARIANT}" = cpu ]; then set -- --extra-index-url "${CPU_WHEELS}"; fi \
    && /opt/pip/bin/pip --python /opt/rhapsode/bin/python install --no-cache-dir --no-compile --no-deps \
        --require-hashes --requirement storage.txt \
    && case ",${EXTRAS}," in *,kokoro,*) /opt/pip/bin/pip --python /opt/rhapsode/bin/python install --no-cache-dir \
        --no-compile --no-deps --require-hashes --requirement kokoro.txt;; esac \
    && python3 requirements.py pyproject.toml "${EXTRAS}" > needed.txt \
    && /opt/pip/bin/pip --python /opt/rhapsode/bin/python install --no-cache-dir --no-compile "$@" \
        --constraint constraints.txt --requirement needed.txt
COPY docker/trim.sh ./
RUN sh trim.sh /opt/rhapsode/lib/python3.11/site-packages
COPY LICENSE README.md ./
COPY api api
COPY generators generators
COPY reading reading
COPY rhapsode rhapsode
COPY storage storage
COPY worker worker
COPY docker/voices docker/voices
RUN /opt/pip/bin/pip --python /opt/rhapsode/bin/python install --no-cache-dir --no-compile --no-deps . ./docker/voices
# Where the wheel keeps `api`, `reading`, `storage` and `worker`.
ENV PYTHONPATH=/opt/rhapsode/lib/python3.11/site-packages/rhapsode/_system
# Leaves bytecode of what is loaded, and says here if a module does not load.
WORKDIR /
RUN /opt/rhapsode/bin/python -c "import worker.lifecycle.start, worker.janitor.__main__, worker.planning.drafting.__main__" \
    && /opt/rhapsode/bin/python -c "import worker.engine.native, worker.voices.reference_audio.__main__" \
    && /opt/rhapsode/bin/rhapsode run --help

# hadolint ignore=DL3006
FROM python
RUN useradd --uid 10001 --user-group --no-create-home --no-log-init --home-dir /tmp rhapsode \
    && install --directory --owner=10001 --group=10001 /scratch /var/cache/rhapsode
COPY --from=build /opt/rhapsode /opt/rhapsode
COPY docker/probe.py /opt/rhapsode/
# An assembly writes its files to TMPDIR: a volume on a disk, since /tmp is usually memory. Compiled kernels must be on
# something from which programs may be loaded.
ENV PATH=/opt/rhapsode/bin:$PATH \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONPATH=/opt/rhapsode/lib/python3.11/site-packages/rhapsode/_system \
    PYTHONUNBUFFERED=1 \
    RHAPSODE_LOG_FORMAT=json \
    RHAPSODE_METRICS_PORT=0.0.0.0:9101 \
    TMPDIR=/scratch \
    TRITON_CACHE_DIR=/var/cache/rhapsode
USER 10001:10001
WORKDIR /
VOLUME ["/scratch", "/var/cache/rhapsode"]
EXPOSE 9101
# A start loads the model; a GPU worker captures its graphs as well.
HEALTHCHECK --interval=10s --timeout=5s --start-period=180s --retries=3 \
    CMD ["python", "/opt/rhapsode/probe.py", "http://127.0.0.1:9101/metrics"]
ENTRYPOINT ["rhapsode", "run"]
CMD ["gpu-worker"]
