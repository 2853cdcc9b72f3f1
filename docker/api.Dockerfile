# The HTTP API: no torch, no compiler, no root, nothing written below /.
#   docker build --file docker/api.Dockerfile --tag rhapsode-api .
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS python
# The release's own Python, 3.11, on which the tests run. Versions follow the base image's release.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates python3 \
    && rm -rf /var/lib/apt/lists/*

FROM python AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends binutils python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
RUN python3 -m venv --without-pip /opt/rhapsode && python3 -m venv /opt/pip
COPY constraints.txt pyproject.toml docker/requirements.py docker/pins/storage.txt ./
RUN /opt/pip/bin/pip --python /opt/rhapsode/bin/python install --no-cache-dir --no-compile --no-deps \
        --require-hashes --requirement storage.txt \
    && python3 requirements.py pyproject.toml api > needed.txt \
    && /opt/pip/bin/pip --python /opt/rhapsode/bin/python install --no-cache-dir --no-compile \
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
# The programs that look into recordings and the deliverer of webhooks are in `worker`.
RUN /opt/pip/bin/pip --python /opt/rhapsode/bin/python install --no-cache-dir --no-compile --no-deps .
# Where the wheel keeps `api`, `reading`, `storage` and `worker`.
ENV PYTHONPATH=/opt/rhapsode/lib/python3.11/site-packages/rhapsode/_system
# Leaves bytecode of what is loaded, and nothing of the rest; and says here if a module does not load.
WORKDIR /
RUN /opt/rhapsode/bin/python -c "import api.server, worker.webhooks.lifecycle, worker.voices.reference_audio.__main__, av" \
    && /opt/rhapsode/bin/rhapsode run --help

# What installs packages goes, and with it what only that needs. Perl is last: scripts of other packages run in it.
# Of the C library go conversions that Python has itself; of Python its tests and the help of its shell.
FROM python AS system
RUN useradd --uid 10001 --user-group --no-create-home --no-log-init --home-dir /tmp rhapsode \
    && dpkg --purge --force-depends --force-remove-essential \
        adduser apt bsdutils debian-archive-keyring e2fsprogs gpgv libapt-pkg6.0 libaudit1 libblkid1 libcap-ng0 \
        libext2fs2 libgcrypt20 libgnutls30 libgpg-error0 libhogweed6 libidn2-0 liblz4-1 libmount1 libnettle8 \
        libp11-kit0 libpam-modules libpam-modules-bin libpam-runtime libpam0g libseccomp2 libsemanage2 libsepol2 \
        libsmartcols1 libss2 libsystemd0 libtasn1-6 libudev1 libunistring2 libxxhash0 login logsave mount passwd \
        sysvinit-utils util-linux util-linux-extra \
    && dpkg --purge --force-depends --force-remove-essential perl-base \
    && rm -rf /var/cache/* /var/log/* /usr/lib/*/gconv /usr/lib/python3*/pydoc_data /usr/lib/python3*/test \
        /usr/share/locale /usr/share/perl5 /usr/share/zoneinfo/right \
    && python3 -c "import ssl, zoneinfo; zoneinfo.ZoneInfo('UTC')"

FROM scratch
# One layer: what was removed above takes no room.
# hadolint ignore=DL3067
COPY --from=system / /
COPY --from=build /opt/rhapsode /opt/rhapsode
COPY docker/probe.py /opt/rhapsode/probe.py
ENV PATH=/opt/rhapsode/bin:$PATH \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONPATH=/opt/rhapsode/lib/python3.11/site-packages/rhapsode/_system \
    PYTHONUNBUFFERED=1 \
    RHAPSODE_LOG_FORMAT=json
USER 10001:10001
WORKDIR /
EXPOSE 8765
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "/opt/rhapsode/probe.py", "http://127.0.0.1:8765/readyz"]
ENTRYPOINT ["rhapsode", "run"]
CMD ["api", "--host", "0.0.0.0", "--port", "8765"]
