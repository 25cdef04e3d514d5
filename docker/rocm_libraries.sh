#!/usr/bin/env bash
# Lets the loader find the ROCm libraries that torch needs: rocm_libraries.sh TORCH_ROOT
# In Python, `import torch` opens them one by one where ROCm came as wheels (_rocm_sdk_core, _rocm_sdk_libraries beside
# torch). A native program has only the loader, so the folders that hold what is missing are named to it, until nothing
# is missing; fails when a library is nowhere.
set -euo pipefail
shopt -s inherit_errexit
torch=$1
configuration=${LOADER_CONFIGURATION:-/etc/ld.so.conf.d/lerobot-rocm.conf}
places=("$(dirname "$torch")")
[[ -d ${ROCM_PATH:=/opt/rocm} ]] && places+=("$ROCM_PATH")

missing() {
  for library in "$torch"/lib/libtorch_cpu.so "$torch"/lib/libtorch_hip.so; do ldd "$library"; done |
    awk '/=> not found/ {print $1}' | sort -u
}

: >"$configuration"
previous=
needed=$(missing)
while [[ -n $needed ]]; do
  if [[ $needed == "$previous" ]]; then
    echo "rocm_libraries.sh: the loader does not find ${needed//$'\n'/ }" >&2
    exit 1
  fi
  for library in $needed; do
    find -H "${places[@]}" -name "$library" -printf '%h\n' -quit
  done | sort -u >>"$configuration"
  ldconfig
  previous=$needed
  needed=$(missing)
done
cat "$configuration"
