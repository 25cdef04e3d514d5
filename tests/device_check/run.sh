#!/usr/bin/env bash
# Builds the device check against the LibTorch of this machine and runs it: a minute or two of compiling, then seconds.
#   tests/device_check/run.sh [DEVICE]   DEVICE as --policy.device; the best there is when left out
#   tests/device_check/run.sh pack       copies nlohmann/json's headers into the build folder, to be taken along to a
#                                        machine that has none
# JOBS=n limits the compilers. Exit code 0: nothing failed.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."

if [[ ${1:-} == pack ]]; then
  mkdir -p build/device_check_headers
  cp -r "${NLOHMANN_JSON_ROOT:-/usr/include}/nlohmann" build/device_check_headers/
  echo "take along: build/device_check_headers"
  exit
fi

generator=()
command -v ninja >/dev/null && generator=(-G Ninja)
cmake -S tests/device_check -B build/device_check "${generator[@]}" -DCMAKE_BUILD_TYPE=Release
cmake --build build/device_check --parallel "${JOBS:-$(nproc)}"
build/device_check/device_check "$@"
