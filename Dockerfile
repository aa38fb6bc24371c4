# The README's two commands in an image:
#   docker build -t pliant .
#   docker run --rm -v "$PWD/runs:/pliant/runs" pliant
#   docker run --rm pliant pytest -n 2 --dist loadfile -m "not slow"
FROM debian:bookworm-slim

RUN apt-get update \
    && apt-get install -y python3-venv libegl1 libgl1 \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /pliant
COPY . .
RUN python3 -m venv .venv \
    && .venv/bin/pip install --no-cache-dir -c constraints.txt -e ".[all,dev]"
ENV PATH=/pliant/.venv/bin:$PATH
CMD ["pliant", "ilc"]
