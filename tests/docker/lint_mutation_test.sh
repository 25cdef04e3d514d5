#!/usr/bin/env bash
# A rule that cannot be broken proves nothing: breaks each rule of lint.sh in a copy and expects to be told.
# Usage: lint_mutation_test.sh REPOSITORY
set -uo pipefail
repository=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
broken=0

report() {
  failures=$((failures + 1))
  printf 'FAILED: %s\n%s\n' "$1" "$2"
}

mkdir "$work/copy"
cp -R "$repository/docker" "$repository/.dockerignore" "$repository/run" "$work/copy/"
for entry in CMakeLists.txt LICENSE apps cmake include src; do ln -s "$repository/$entry" "$work/copy/$entry"; done
output=$(bash "$repository/tests/docker/lint.sh" "$work/copy") || report "the unchanged copy is refused" "$output"

# expect_told MESSAGE FILE SED_EXPRESSION: the edited copy fails, and with this message.
expect_told() {
  local message=$1 file=$2 expression=$3 output
  broken=$((broken + 1))
  sed -i "$expression" "$work/copy/$file"
  if cmp -s "$repository/$file" "$work/copy/$file"; then
    report "the edit changed nothing: $file: $expression" ""
  elif output=$(bash "$repository/tests/docker/lint.sh" "$work/copy"); then
    report "not noticed: $file: $expression" "expected: $message"
  elif [[ $output != *"$message"* ]]; then
    report "noticed, but not as '$message': $file: $expression" "$output"
  fi
  cp "$repository/$file" "$work/copy/$file"
}

cpu=docker/Dockerfile.cpu cuda=docker/Dockerfile.cuda rocm=docker/Dockerfile.rocm xpu=docker/Dockerfile.xpu readme=docker/README.md

expect_told "has no tag" $cpu 's/^ARG BASE_IMAGE=.*/ARG BASE_IMAGE=debian/'
expect_told "moves" $cpu 's/^ARG BASE_IMAGE=.*/ARG BASE_IMAGE=debian:latest/'
expect_told "has no tag" $rocm 's/^ARG BASE_IMAGE=.*/ARG BASE_IMAGE=/'
expect_told "is no SHA-256" $xpu 's/@sha256:.*/@sha256:1234/'
expect_told "the image runs as root" $cpu '/^USER lerobot/d'
expect_told "the image runs as root" $rocm 's/^USER lerobot/USER root/'
expect_told "the image runs as root" $xpu 's/^USER lerobot/USER 0/'
expect_told "without --no-install-recommends" $cuda '0,/ --no-install-recommends/s///'
expect_told "leaves its lists" $cpu '0,/ *&& rm -rf .var.lib.apt.lists.*/s///; s/nlohmann-json3-dev \\/nlohmann-json3-dev/'
expect_told "without apt-get update" $xpu '0,/apt-get update/s//true/'
expect_told "ADD is used" $cpu 's/^COPY apps/ADD apps/'
expect_told "downloads something itself" $xpu 's/^ARG JOBS/RUN curl example/'
expect_told "without --no-cache-dir" $rocm 's/ --no-cache-dir//'
expect_told "no exact version: pyarrow>=20" $rocm 's/pyarrow==[0-9.]*/pyarrow>=20/'
expect_told "a file that is not there: sources" $cpu 's/^COPY apps/COPY sources/'
expect_told ".dockerignore hides apps" .dockerignore '/apps/d'
expect_told "the entry point is not copied" $cuda '/^COPY docker.entrypoint/d'
expect_told "the entry point is not started" $rocm '/^ENTRYPOINT/d'
expect_told "does not show its help" $xpu '/^CMD/d'
expect_told "HF_HOME is not" $cpu 's/ HF_HOME=.huggingface//'
expect_told "HOME is not set" $cpu 's/^ENV HOME=[^ ]*/ENV/'
expect_told "cannot write to the mount points" $rocm 's/chmod 1777/chmod 755/'
expect_told "does not start every program once" $cuda 's/"$program" --help/true/'
expect_told "more than what runs" $cpu 's#--from=build /runtime /#--from=build / /#'
expect_told "./run installs libtiff-dev, the build stage does not" $xpu 's/ libtiff-dev//'
expect_told "./run takes pyarrow==99" run 's/^arrow_requirement=.*/arrow_requirement=pyarrow==99/'
expect_told "./run takes torch==2.12.0" run 's/torch==2.11.0/torch==2.12.0/'
expect_told "not ./run's version for XPU" run 's/torch==2.11.0/torch==2.12.0/'
expect_told "differs from Dockerfile.cpu" $cuda 's/^ARG JOBS/ARG JOBS=2/'
expect_told "which parts of the driver" $cuda '/NVIDIA_DRIVER_CAPABILITIES/d'
expect_told "replaces the base image's torch" $rocm 's/ pyarrow==/ torch==2.11.0 pyarrow==/'
expect_told "not checked for HIP" $rocm '/rocm_torch.sh >/d'
expect_told "a changed torch is not noticed" $rocm '0,/&& .docker.rocm_torch.sh | diff/s//\&\& true | diff/'
expect_told "a changed torch is not noticed" $rocm 's/^RUN .docker.rocm_torch.sh | diff/RUN true | diff/'
expect_told "where ROCm's libraries are" $rocm '/rocm_libraries.sh "\$(sed/d; s/^\(RUN .*diff .opt.lerobot.torch -\) \\/\1/'
expect_told "has a default" $xpu 's/^ARG TORCH_INDEX/ARG TORCH_INDEX=index/'
expect_told "names a host" $xpu 's/^ARG TORCH_INDEX/ARG TORCH_INDEX=https:\/\/example/'
expect_told "has no group render" $rocm 's/groupadd/true/'
expect_told "does not stop at the first failure" docker/collect.sh '/^set -euo/d'
expect_told "bash cannot read it" docker/entrypoint.sh 's/^esac//'
expect_told "'NVIDIA' lacks --gpus all" $readme 's/--gpus all/--runtime=nvidia/'
expect_told "'AMD' lacks --device=/dev/kfd" $readme 's/ --device=.dev.kfd//'
expect_told "'AMD' lacks --group-add render" $readme '/dev.kfd/s/ --group-add render//'
expect_told "'AMD' lacks --shm-size 16gb" $readme 's/ --shm-size 16gb//'
expect_told "'Intel' lacks --device=/dev/dri" $readme '/--rm -it --device=.dev.dri/s/ --device=.dev.dri//'
expect_told "how to choose an AMD GPU" $readme 's/HIP_VISIBLE_DEVICES//'
expect_told "does not say how to build Dockerfile.cuda" $readme '/docker build -f docker.Dockerfile.cuda/d'
touch "$work/copy/docker/Dockerfile.metal"
expect_told "expected exactly" $readme '1s/^/x/'

[[ $failures -eq 0 ]] && echo "all $broken broken rules were named"
exit $((failures > 0))
