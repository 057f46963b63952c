# The command line of counterpoise. Tables are read from and results written to /data:
#
#   docker build --tag counterpoise .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/data" counterpoise \
#       run --source train.csv --label y --target new.csv --out out

FROM python:3.13-slim AS build
COPY . /source
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:3.13-slim
COPY --from=build /wheels /wheels
COPY constraints.txt /wheels/
# The caches are writable for any user, because `docker run --user` may name another one.
RUN python -m pip install --no-cache-dir --constraint /wheels/constraints.txt \
        "$(ls /wheels/*.whl)[cli,report]" \
    && rm -r /wheels \
    && useradd --create-home counterpoise \
    && mkdir --mode 1777 /var/cache/numba /var/cache/matplotlib \
    && install --directory --owner counterpoise /data
ENV NUMBA_CACHE_DIR=/var/cache/numba \
    MPLCONFIGDIR=/var/cache/matplotlib
USER counterpoise
WORKDIR /data
ENTRYPOINT ["counterpoise"]
CMD ["--help"]
