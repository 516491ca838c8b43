# The broker in an image: docker build -t caudal . && docker run -p 9092:9092 caudal
# Clients connect to what the broker advertises: for other machines, add `--advertised HOST:9092` after the image's name.
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/caudal && /opt/caudal/bin/pip install --no-cache-dir --constraint constraints.txt .

FROM python:3.12-slim
RUN useradd --system --home-dir /data caudal && mkdir /data && chown caudal /data
COPY --from=build /opt/caudal /opt/caudal
ENV PATH=/opt/caudal/bin:$PATH PYTHONUNBUFFERED=1
USER caudal
WORKDIR /data
VOLUME /data
EXPOSE 9092 9404
# SIGTERM is a clean shutdown: logs flushed, the marker written, a quick next start.
STOPSIGNAL SIGTERM
ENTRYPOINT ["caudal", "broker", "--host", "0.0.0.0", "--data", "/data"]
CMD ["--advertised", "localhost:9092"]
