#!/usr/bin/env bash
# The scripts that run inside the images, with stand-ins for ldd, ldconfig, torch and the programs.
# Usage: scripts_test.sh REPOSITORY
set -uo pipefail
docker=$(cd "$1" && pwd)/docker
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fake() { printf '#!/bin/bash\n%s\n' "$2" >"$work/bin/$1"; chmod +x "$work/bin/$1"; }
set_up() { rm -rf "${work:?}"/*; mkdir -p "$work/bin"; }

# run SCRIPT ARGUMENTS...: stdout in $out, stderr in $err, exit code in $code
run() {
  out=$(cd "${here-$work}" && PATH="$work/bin:$PATH" bash "$docker/$1" "${@:2}" 2>"$work/err")
  code=$?
  err=$(cat "$work/err")
}

check() {  # check PROMISE CONDITION...
  local promise=$1
  shift
  if ! "$@"; then
    failures=$((failures + 1))
    printf 'FAILED: %s\n  exit code: %s\n  stdout: %s\n  stderr: %s\n' "$promise" "$code" "$out" "$err"
  fi
}
contains() { [[ $1 == *"$2"* ]]; }
is() { [[ $1 == "$2" ]]; }

# ---- entrypoint.sh --------------------------------------------------------------------------------------------------

set_up
fake lerobot-train 'printf "%s\n" "train" "$@"; exit 7'
export LEROBOT_BIN=$work/bin
run entrypoint.sh lerobot-train --steps=3 '--policy.normalization_mapping={"A":"MEAN_STD"}' 'two words'
check "the program gets its flags as they are" is "$out" $'train\n--steps=3\n--policy.normalization_mapping={"A":"MEAN_STD"}\ntwo words'
check "the program's exit code is the container's" is "$code" 7
run entrypoint.sh
check "without arguments it shows its help" contains "$out" "Usage: docker run"
check "the help names the programs that are there" contains "$out" "Programs: lerobot-train"
check "help is no failure" is "$code" 0
run entrypoint.sh lerobot-eval --policy.path=x
check "a program that is not here is refused by name" contains "$err" "'lerobot-eval' is not here. Programs of this image: lerobot-train"
check "a program that is not here is exit code 2" is "$code" 2
fake lerobot-eval 'echo eval'
run entrypoint.sh lerobot-eval
check "a second program needs no change" is "$out" eval
run entrypoint.sh --steps=3
check "flags without a program are answered with the form" contains "$err" "name the program before its flags: IMAGE lerobot-train --steps=3"
check "flags without a program are exit code 2" is "$code" 2
run entrypoint.sh bash
check "another command is refused with the way to run it" contains "$err" "docker run --entrypoint bash"
unset LEROBOT_BIN

# ---- rocm_torch.sh --------------------------------------------------------------------------------------------------

# torch_of HIP: a torch package whose version.py says so
torch_of() {
  set_up
  mkdir -p "$work/site/torch/lib"
  touch "$work/site/torch/__init__.py" "$work/site/torch/lib/libtorch_cpu.so" "$work/site/torch/lib/libtorch_hip.so" "$work/site/torch/lib/libc10.so"
  printf "from typing import Optional\n__version__ = '2.11.0+rocm7.14.0'\ncuda: Optional[str] = None\nhip: Optional[str] = %s\n" "$1" >"$work/site/torch/version.py"
}
export PYTHONPATH=$work/site

torch_of "'7.14.60850'"
run rocm_torch.sh
check "says where torch is" contains "$out" "root $work/site/torch"
check "says torch's version" contains "$out" "torch 2.11.0+rocm7.14.0"
check "says HIP's version" contains "$out" "hip 7.14.60850"
before=$out
run rocm_torch.sh
check "says the same of the same torch" is "$out" "$before"
echo changed >>"$work/site/torch/lib/libtorch_hip.so"
run rocm_torch.sh
check "a changed library changes what it says" test "$out" != "$before"
rm "$work/site/torch/lib/libtorch_hip.so"
run rocm_torch.sh
check "a torch without libtorch_hip is refused" contains "$err" "libtorch_hip.so is missing"
check "a torch without libtorch_hip fails the build" is "$code" 1
torch_of None
run rocm_torch.sh
check "a torch without HIP is refused" contains "$err" "was built without HIP"
check "a torch without HIP fails the build" is "$code" 1
set_up
fake python3 'true'
run rocm_torch.sh
check "no torch at all is refused" contains "$err" "the base image has no torch"
check "no torch at all fails the build" is "$code" 1
unset PYTHONPATH

# ---- rocm_libraries.sh ----------------------------------------------------------------------------------------------

# libtorch_hip needs libamdhip64, which needs librocm_sysdeps: a folder is found only after the one before it is known.
rocm_wheels() {
  set_up
  mkdir -p "$work/site/torch/lib" "$work/site/_rocm_sdk_core/lib/rocm_sysdeps/lib"
  touch "$work/site/_rocm_sdk_core/lib/libamdhip64.so.7" "$work/site/_rocm_sdk_core/lib/rocm_sysdeps/lib/librocm_sysdeps.so.1"
  touch "$work/site/torch/lib/libtorch_cpu.so" "$work/site/torch/lib/libtorch_hip.so"
  fake ldd 'known() { grep -qx "$1" "'"$work"'/loader"; }
    core="'"$work"'/site/_rocm_sdk_core/lib"
    [[ $1 == *libtorch_hip.so ]] || { echo "libc.so.6 => /lib/libc.so.6 (0x1)"; exit; }
    known "$core" || { echo "libamdhip64.so.7 => not found"; exit; }
    known "$core/rocm_sysdeps/lib" || echo "librocm_sysdeps.so.1 => not found"'
  fake ldconfig "echo x >>'$work/calls'"
}
export LOADER_CONFIGURATION=$work/loader ROCM_PATH=$work/none

rocm_wheels
run rocm_libraries.sh "$work/site/torch"
check "finds a library, and then what that one needs" is "$out" "$work/site/_rocm_sdk_core/lib
$work/site/_rocm_sdk_core/lib/rocm_sysdeps/lib"
check "found libraries are no failure" is "$code" 0
rocm_wheels
rm "$work/site/_rocm_sdk_core/lib/rocm_sysdeps/lib/librocm_sysdeps.so.1"
run rocm_libraries.sh "$work/site/torch"
check "a library that is nowhere is named" contains "$err" "does not find librocm_sysdeps.so.1"
check "a library that is nowhere fails the build" is "$code" 1
unset LOADER_CONFIGURATION ROCM_PATH

# ---- collect.sh -----------------------------------------------------------------------------------------------------

prefix_with_ldd() {
  set_up
  mkdir -p "$work/prefix/bin" "$work/prefix/lib/torch/lib" "$work/prefix/lib/nvidia/lib"
  for file in bin/lerobot-train lib/torch/lib/libtorch_cpu.so lib/torch/lib/libtorch_cuda.so lib/torch/lib/libtorch_python.so lib/nvidia/lib/libcudart.so.13; do
    echo "$file" >"$work/prefix/$file"
  done
  fake ldd 'echo "libc.so.6 => /lib/libc.so.6 (0x1)"; echo "linux-vdso.so.1 (0x2)"
    case $1 in
      *lerobot-train) echo "libtorch_cpu.so => '"$work"'/prefix/lib/torch/lib/libtorch_cpu.so (0x3)"
        echo "libcudart.so.13 => '"$work"'/prefix/lib/torch/lib/../../nvidia/lib/libcudart.so.13 (0x4)" ;;
      *libtorch_cuda.so) echo "libcuda.so.1 => not found"; '"$1"' ;;
    esac'
}
export LEROBOT_PREFIX=$work/prefix

prefix_with_ldd true
here=$work/prefix/lib run collect.sh "$work/image" "$work/prefix/lib/torch/lib/libtorch_cuda.so"
check "the driver's library may be missing" is "$code" 0
collected=$(cd "$work/image$work/prefix" && find . -type f | LC_ALL=C sort)
check "takes the programs, what they load, and what is named; nothing else" is "$collected" "./bin/lerobot-train
./lib/nvidia/lib/libcudart.so.13
./lib/torch/lib/libtorch_cpu.so
./lib/torch/lib/libtorch_cuda.so"
prefix_with_ldd 'echo "libcudnn.so.9 => not found"'
run collect.sh "$work/image" "$work/prefix/lib/torch/lib/libtorch_cuda.so"
check "a missing library is named" contains "$err" "does not find libcudnn.so.9"
check "a missing library fails the build" is "$code" 1
run collect.sh "$work/image" "$work/prefix/lib/torch/lib/libtorch_xpu.so"
check "a named library that does not exist fails the build" is "$code" 1

[[ $failures -eq 0 ]] && echo "all promises kept"
exit $((failures > 0))
