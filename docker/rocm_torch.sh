#!/usr/bin/env bash
# Describes the torch that a ROCm base image brings: its folder, version, HIP version, and the checksums of the libraries
# that run. Fails when there is none or it has no HIP. Two calls that differ: something replaced that torch in between.
set -euo pipefail
shopt -s inherit_errexit

root=$(python3 -c "import importlib.util, os
s = importlib.util.find_spec('torch')
print(os.path.dirname(s.origin) if s and s.origin else '')")
[[ -n $root ]] || { echo "rocm_torch.sh: the base image has no torch" >&2; exit 1; }

value() { sed -nE "s/^$1 *(:[^=]*)?= *'([^']*)'.*/\2/p" "$root/version.py" | sed -n 1p; }
version=$(value __version__)
hip=$(value hip)
[[ -n $hip ]] || { echo "rocm_torch.sh: torch $version in $root was built without HIP" >&2; exit 1; }
[[ -f $root/lib/libtorch_hip.so ]] || { echo "rocm_torch.sh: $root/lib/libtorch_hip.so is missing" >&2; exit 1; }

printf 'root %s\ntorch %s\nhip %s\n' "$root" "$version" "$hip"
sha256sum "$root/version.py" "$root"/lib/libtorch_cpu.so "$root"/lib/libtorch_hip.so "$root"/lib/libc10*.so
