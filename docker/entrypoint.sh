#!/usr/bin/env bash
# docker run IMAGE PROGRAM [FLAGS]: the first argument names the program, the rest are its flags.
set -euo pipefail
bin=${LEROBOT_BIN:-/opt/lerobot/bin}

programs() {
  local program
  for program in "$bin"/lerobot-*; do [[ -x $program ]] && basename "$program"; done
}

refuse() {
  printf 'entrypoint: %s. Programs of this image: %s\n' "$1" "$(programs | paste -sd ' ')" >&2
  exit 2
}

case ${1:-help} in
  help | --help | -h)
    cat <<TEXT
Usage: docker run [DOCKER'S OPTIONS] IMAGE PROGRAM [FLAGS]

Programs: $(programs | paste -sd ' ')
Flags:    docker run --rm IMAGE PROGRAM --help

Mounts    /work         the working directory: outputs/train/... is written here
          /huggingface  HF_HOME: data sets in lerobot/, checkpoints of the Hub in hub/ (may be read-only)
          /torch        TORCH_HOME: pretrained backbones in hub/checkpoints/ (may be read-only)

docker/README.md has one whole command for each kind of device.
TEXT
    ;;
  -*) refuse "name the program before its flags: IMAGE lerobot-train $1 ..." ;;
  lerobot-*)
    [[ -x $bin/$1 ]] || refuse "'$1' is not here"
    if [[ $PWD == /work && ${2:-} != --help ]] && ! mountpoint -q /work; then
      echo "entrypoint: /work is not mounted: what is written there goes with the container (-v \"\$PWD:/work\")" >&2
    fi
    exec "$bin/$1" "${@:2}"
    ;;
  *) refuse "'$1' is no program of ours (another one: docker run --entrypoint $1 ...)" ;;
esac
