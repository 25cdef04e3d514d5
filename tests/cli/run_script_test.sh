#!/usr/bin/env bash
# Tests of ./run with stand-ins for cmake, dpkg, apt-get and pip: what it hands on, when it builds, what it refuses.
# Usage: run_script_test.sh REPOSITORY
set -uo pipefail
repository=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# ---- a small copy of the repository and a PATH of stand-ins ---------------------------------------------------------

fake() { printf '#!/bin/bash\n%s\n' "$2" >"$work/bin/$1"; chmod +x "$work/bin/$1"; }

set_up() {
  rm -rf "${work:?}"/*
  mkdir -p "$work/bin" "$work/repo/data" "$work/repo/src" "$work/torch/include/torch/csrc/api/include/torch" "$work/torch/lib"
  cp "$repository/run" "$work/repo/"
  cp "$repository/data/quickstart.flags" "$work/repo/data/"
  mkdir -p "$work/repo/cmake" "$work/repo/include" "$work/repo/apps" "$work/repo/tests"
  touch "$work/repo/CMakeLists.txt" "$work/repo/CMakePresets.json" "$work/repo/src/a.cpp" "$work/repo/src/b.cpp"
  touch "$work/torch/include/torch/csrc/api/include/torch/torch.h" "$work/torch/lib/libtorch_cpu.so"
  echo "2.11.0+cpu" >"$work/torch/build-version"
  # Every tool is there; every package is installed; building makes a program that prints its arguments.
  for tool in g++ make ninja ccache; do fake "$tool" 'exit 0'; done
  fake pkg-config 'exit 0'
  fake dpkg-query 'echo installed'
  fake apt-get "echo \"apt-get \$*\" >>'$work/calls'"
  fake cmake "echo \"cmake \$*\" >>'$work/calls'
case \$1 in
  --version) echo 'cmake version 3.30.1' ;;
  --build) mkdir -p '$work/repo/build/release/apps'
    for program in train eval; do
      printf '#!/bin/bash\nprintf \"%%s\\\\n\" \"\$@\"\n' >'$work/repo/build/release/apps/lerobot-'\$program
      chmod +x '$work/repo/build/release/apps/lerobot-'\$program
    done ;;
esac"
  fake ctest "echo \"ctest \$*\""
  : >"$work/calls"
}

# run ARGUMENTS...: stdout in $out, stderr in $err, exit code in $code
run() {
  out=$(cd "$work" && PATH="$work/bin:$PATH" LIBTORCH_ROOT="${torch-$work/torch}" "$work/repo/run" "$@" 2>"$work/err")
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
lacks() { [[ $1 != *"$2"* ]]; }
is() { [[ $1 == "$2" ]]; }

# ---- promises -------------------------------------------------------------------------------------------------------

set_up
run train --policy.dim_model=64 --batch_size 8
check "the quick start names the dataset by its whole path" contains "$out" "--dataset.root=$work/repo/data/pusht_demo_keypoints"
check "a flag's JSON value stays one argument" contains "$out" '"ENV":"MEAN_STD"'
check "the user's flags come last" is "$(tail -n 3 <<<"$out")" $'--policy.dim_model=64\n--batch_size\n8'
check "comments are no arguments" lacks "$out" '#'
check "says that it is the quick start" contains "$err" "quick start"

: >"$work/calls"
run train
check "a second call builds nothing" is "$(cat "$work/calls")" ""
check "a second call succeeds" is "$code" 0

run train --steps=20000
check "the schedule follows a longer run" contains "$out" "--scheduler.num_decay_steps=20000"
run train --steps=20
check "a shorter run keeps the schedule, which scales itself" lacks "$out" "--scheduler.num_decay_steps=20"$'\n'
run train --policy.type=diffusion
check "another policy gets no settings of ACT" lacks "$out" "--policy.dim_model"

for flags in "--dataset.repo_id=a/b" "--dataset.root /x" "--config_path=c.json" "--policy.path=p" "--help"; do
  # shellcheck disable=SC2086
  run train $flags
  check "$flags is handed on as it is" is "$out" "${flags// /$'\n'}"
done

: >"$work/calls"
touch "$work/repo/src/a.cpp"
run train
check "a changed source is built" contains "$(cat "$work/calls")" "cmake --build"
: >"$work/calls"
rm "$work/repo/src/b.cpp"
run train
check "a removed source is noticed" contains "$(cat "$work/calls")" "cmake --build"

run test -R Name
check "arguments of test go to ctest" contains "$out" "ctest --preset release -R Name"
touch "$work/repo/tests/a_test.cpp"
: >"$work/calls"
run train
check "a changed test does not hold up the training" is "$(cat "$work/calls")" ""

set_up
fake cmake 'case $1 in --version) echo "cmake version 3.30.1" ;; --build) echo "a.cpp:1: error: broken"; exit 1 ;; esac'
run train
check "a failed build shows the compiler's words" contains "$err" "a.cpp:1: error: broken"
check "a failed build is exit code 2" is "$code" 2
check "a failed build leaves stdout alone" is "$out" ""
run train
check "a failed build is tried again" contains "$err" "a.cpp:1: error: broken"

set_up
fake dpkg-query '[[ ${*: -1} == libpng-dev ]] && exit 1; echo installed'
fake id 'echo 0'
fake apt-get "echo \"apt-get \$*\" >>'$work/calls'; touch '$work/torch/lib/libtorch_cpu.so'"
run train
check "installs exactly what is missing" contains "$(cat "$work/calls")" "install -y --no-install-recommends libpng-dev"
check "says what it installs first" contains "$err" "will install with apt-get: libpng-dev"
: >"$work/calls"
run train
check "what the set-up itself fetched does not count as a change" is "$(cat "$work/calls")" ""

set_up
fake dpkg-query '[[ ${*: -1} == libpng-dev ]] && exit 1; echo installed'
fake id 'echo 1000'
fake sudo 'exit 1'
run train
check "without root it names the packages" contains "$err" "apt-get install libpng-dev"
check "without root it is exit code 2" is "$code" 2

set_up
echo "2.5.1" >"$work/torch/build-version"
run train
check "an old LIBTORCH_ROOT is refused" contains "$err" "is LibTorch 2.5.1; 2.11 or newer is needed"
check "an old LIBTORCH_ROOT is exit code 2" is "$code" 2
torch="$work/empty" run train
check "a LIBTORCH_ROOT without LibTorch is refused" contains "$err" "holds no LibTorch"

set_up
run eval
check "eval without a checkpoint names ./run train" contains "$err" "call ./run train first"
check "eval without a checkpoint is exit code 2" is "$code" 2
for run in outputs/train/2026-01-01/00-00-00_act outputs/train/mine; do
  mkdir -p "$work/$run/checkpoints/000010/pretrained_model"
  ln -s 000010 "$work/$run/checkpoints/last"
  echo '{"input_features": {"observation.environment_state": {}}}' >"$work/$run/checkpoints/last/pretrained_model/config.json"
done
touch -d '1 hour ago' "$work/outputs/train/mine/checkpoints/last/pretrained_model"
run eval --eval.n_episodes=3
check "eval takes the newest checkpoint" contains "$out" "--policy.path=outputs/train/2026-01-01/00-00-00_act/checkpoints/last/pretrained_model"
check "eval observes what the policy reads" contains "$out" "--env.obs_type=environment_state_agent_pos"
check "eval's own flags come last" is "$(tail -n 1 <<<"$out")" "--eval.n_episodes=3"
run eval --policy.path=p --env.type=aloha
check "eval with a policy hands the flags on as they are" is "$out" $'--policy.path=p\n--env.type=aloha'

[[ $failures -eq 0 ]] && echo "all promises kept"
exit $((failures > 0))
