# One image for all processes of the site: compose.yaml says which of them runs what.

FROM python:3.13.15-slim-trixie@sha256:9d2e5553305c7c7b0097999bb17187c69b921ccd6bc9d40e4bb5ebe652c00285 AS packages
COPY requirements.lock .
RUN python -m venv --without-pip /venv \
    && pip --python /venv/bin/python install --no-cache-dir --disable-pip-version-check \
        --only-binary :all: --require-hashes -r requirements.lock

FROM python:3.13.15-slim-trixie@sha256:9d2e5553305c7c7b0097999bb17187c69b921ccd6bc9d40e4bb5ebe652c00285
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin chatsite \
    && install --directory --owner chatsite --group chatsite --mode 700 /data
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 DATA_DIR=/data
COPY --from=packages /venv /venv
WORKDIR /app
COPY manage.py LICENSE ./
COPY compression compression
COPY conversations conversations
COPY static static
COPY templates templates
COPY chatsite chatsite
RUN python -m compileall -q .
USER 10001:10001
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 \
    CMD ["python", "-m", "chatsite.healthcheck", "http://127.0.0.1:8000/healthz"]
CMD ["uvicorn", "chatsite.asgi:application", "--host", "0.0.0.0", "--port", "8000", \
    "--http", "chatsite.servers.uvicorn:Http", "--ws", "chatsite.servers.uvicorn:Socket", \
    "--timeout-graceful-shutdown", "5", "--no-access-log"]
