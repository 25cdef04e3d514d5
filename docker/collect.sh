#!/usr/bin/env bash
# Copies what runs, and nothing of what only builds: collect.sh DESTINATION [LIBRARY...]
# That is the programs in /opt/lerobot/bin, the named libraries (those that are opened at run time, so that no program
# lists them) and whatever of both the loader finds below /opt/lerobot. Paths stay the same below DESTINATION.
# Fails when the loader misses a library, except the driver's libcuda.so.1, which the container runtime brings.
set -euo pipefail
shopt -s inherit_errexit
prefix=${LEROBOT_PREFIX:-/opt/lerobot}
destination=$1
shift

roots=("$prefix"/bin/* "$@")
for root in "${roots[@]}"; do
  [[ -f $root ]] || { echo "collect.sh: $root does not exist" >&2; exit 1; }
done

resolved=$(for root in "${roots[@]}"; do ldd "$root"; done)
missing=$(awk '/=> not found/ && $1 != "libcuda.so.1" {print $1}' <<<"$resolved" | sort -u)
if [[ -n $missing ]]; then
  echo "collect.sh: the loader does not find ${missing//$'\n'/ }" >&2
  exit 1
fi

{
  printf '%s\n' "${roots[@]}"
  # torch/lib/../../nvidia/... and nvidia/... are one file.
  awk '$2 == "=>" && $3 ~ "^/" {print $3}' <<<"$resolved" | xargs realpath --no-symlinks | grep "^$prefix/"
} | sort -u | while IFS= read -r file; do
  mkdir -p "$destination$(dirname "$file")"
  cp --dereference "$file" "$destination$file"
done
