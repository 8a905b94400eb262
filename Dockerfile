# SPDX-License-Identifier: Apache-2.0
# The service alone, for a PostgreSQL server of your own (HOLDFAST_DATABASE_URL). It runs as an
# unprivileged user and writes nothing, so the root file system may be read-only.

FROM debian:bookworm-slim AS build
WORKDIR /src
# The packages are a layer of their own: a changed source does not install them again.
COPY dev ./
RUN ./dev setup build
COPY . .
RUN ./dev build && strip build/release/holdfast

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates libcurl4 libfmt9 libhiredis0.14 libpq5 \
    libprometheus-cpp-core1.0 libsoci-core4.0 libsoci-postgresql4.0 libsodium23 libspdlog1.10 \
    libtomlplusplus3 libutf8proc2 \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 holdfast \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent \
    --shell /usr/sbin/nologin holdfast
COPY --from=build /src/build/release/holdfast /usr/local/bin/holdfast
# A library that is not here ends the build, not the first start.
RUN holdfast --help >/dev/null
USER 10001:10001
ENV HOLDFAST_LISTEN=0.0.0.0:8080
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["holdfast", "health", "--url", "http://127.0.0.1:8080"]
ENTRYPOINT ["holdfast"]
CMD ["serve"]
