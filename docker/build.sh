#!/usr/bin/env bash
# Compiles the programs inside an image and installs them below /opt/lerobot: build.sh LIBTORCH PYARROW
# Compilers at once: $JOBS, otherwise one a core as far as memory allows (2.5 GB each).
set -euo pipefail
libtorch=$1
pyarrow=$2

cores=$(nproc)
fit=$(awk '/^MemAvailable/ {print int($2 / 2621440)}' /proc/meminfo)
jobs=${JOBS:-$((fit < 1 ? 1 : fit < cores ? fit : cores))}

cmake -S /src -B /build -G Ninja -DCMAKE_BUILD_TYPE=Release -DLEROBOT_BUILD_TESTS=OFF \
  -DLIBTORCH_ROOT="$libtorch" -DARROW_ROOT="$pyarrow"
cmake --build /build --parallel "$jobs"
cmake --install /build --strip --prefix /opt/lerobot
