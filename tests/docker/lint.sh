#!/usr/bin/env bash
# What must hold of every file in docker/, read from its text: no engine is needed. Names each broken rule.
# Usage: lint.sh REPOSITORY
# shellcheck disable=SC2317  # check_cpu ... check_xpu are called by name
set -uo pipefail
repository=$(cd "$1" && pwd)
failures=0

fail() {
  failures=$((failures + 1))
  printf 'FAILED: %s: %s\n' "$1" "$2"
}

# ---- reading a Dockerfile -------------------------------------------------------------------------------------------

# One instruction a line: comments dropped, continued lines joined, blanks squeezed.
instructions() {
  awk '/^[ \t]*#/ {next} {line = line $0} /\\$/ {sub(/\\$/, " ", line); next}
       {gsub(/[ \t]+/, " ", line); if (line ~ /[^ ]/) print line; line = ""}' "$1"
}
stage() { awk -v wanted="$1" '/^FROM / {stage++; text = ""} {text = text $0 "\n"} wanted == 1 && stage == 1
                              END {if (wanted == "last") printf "%s", text}'; }

# The image a FROM line names, with the ARG defaults put in.
images() {
  awk '
    /^ARG /  { split(substr($0, 5), pair, "="); value[pair[1]] = substr($0, 6 + length(pair[1])) }
    /^FROM / { image = $2
               while (match(image, /\$\{?[A-Za-z_]+\}?/)) {
                 name = substr(image, RSTART, RLENGTH)
                 gsub(/[${}]/, "", name)
                 image = substr(image, 1, RSTART - 1) value[name] substr(image, RSTART + RLENGTH)
               }
               if (!(image in stage)) print image
               if ($3 == "AS") stage[$4] }'
}

# Sets what the rules look at: file, and its lines as all, build, last, runs, requirements (what pip installs).
read_dockerfile() {
  local word words
  file=$1
  all=$(instructions "$repository/docker/$file")
  build=$(stage 1 <<<"$all")
  last=$(stage last <<<"$all")
  runs=$(grep '^RUN ' <<<"$all")
  pips=$(grep -oE 'pip install [^&|]*' <<<"$runs")
  requirements=" "
  while read -ra words; do
    for word in "${words[@]:2}"; do
      [[ $word =~ ^[a-zA-Z][A-Za-z0-9._-]*(\[[a-z,]*\])?([=\<\>~!].*)?$ ]] && requirements+="$word "
    done
  done <<<"$pips"
}
has_line() { [[ $'\n'$1$'\n' == *$'\n'"$2"$'\n'* ]]; }
has_run() {  # has_run TEXT REGEX: within one RUN
  local newline=$'\n'
  local pattern="(^|$newline)RUN [^$newline]*$2"
  [[ $1 =~ $pattern ]]
}

# ---- rules for every file -------------------------------------------------------------------------------------------

check_images() {
  local image found=0
  while IFS= read -r image; do
    found=1
    [[ ${image%%@*} =~ :[A-Za-z0-9._-]+$ ]] || fail "$file" "the base image has no tag: '$image'"
    [[ ${image%%@*} != *:latest ]] || fail "$file" "the base image moves: $image"
    [[ $image != *@* || $image =~ @sha256:[0-9a-f]{64}$ ]] || fail "$file" "the digest of the base image is no SHA-256: $image"
  done < <(images <<<"$all")
  ((found)) || fail "$file" "no FROM"
}

check_packages() {
  local line word
  while IFS= read -r line; do
    [[ ! $line =~ (curl|wget)\  ]] || fail "$file" "downloads something itself; use apt-get or pip"
    [[ $line == *"apt-get install"* ]] || continue
    [[ $line == *"--no-install-recommends"* ]] || fail "$file" "apt-get install without --no-install-recommends"
    [[ $line == *"apt-get update"* ]] || fail "$file" "apt-get install without apt-get update in the same RUN"
    [[ $line == *"rm -rf /var/lib/apt/lists/*"* ]] || fail "$file" "apt-get leaves its lists in the layer"
  done <<<"$runs"
  while IFS= read -r line; do
    [[ $line == *"--no-cache-dir"* ]] || fail "$file" "pip install without --no-cache-dir"
  done <<<"$pips"
  for word in $requirements; do
    [[ $word == *==* ]] || fail "$file" "pip installs no exact version: $word"
  done
}

check_copies() {
  local line word words shown
  shown=$(<"$repository/.dockerignore")
  while IFS= read -r line; do
    [[ $line != "ADD "* ]] || fail "$file" "ADD is used; COPY says what it does"
    [[ $line == "COPY "* && $line != *--from=* ]] || continue
    read -ra words <<<"${line#COPY }"
    for word in "${words[@]:0:${#words[@]}-1}"; do
      [[ -e $repository/$word ]] || fail "$file" "COPY of a file that is not there: $word"
      [[ $word != *.sh || -x $repository/$word ]] || fail "$file" "COPY of a script that is not executable: $word"
      [[ $word == docker/*.sh ]] && word='docker/*.sh'
      has_line "$shown" "!$word" || fail "$file" ".dockerignore hides $word"
    done
  done <<<"$all"
}

check_start() {
  local user
  user=$(grep '^USER ' <<<"${last%%ENTRYPOINT*}" | tail -n 1)
  [[ $user =~ ^USER\ [a-z1-9] && $user != "USER root" ]] || fail "$file" "the image runs as root: no USER before ENTRYPOINT"
  has_line "$last" 'COPY docker/entrypoint.sh /opt/lerobot/entrypoint.sh' || fail "$file" "the entry point is not copied"
  has_line "$last" 'ENTRYPOINT ["/opt/lerobot/entrypoint.sh"]' || fail "$file" "the entry point is not started"
  has_line "$last" 'CMD ["help"]' || fail "$file" "without arguments it does not show its help"
  [[ $last == *" HF_HOME=/huggingface "* ]] || fail "$file" "HF_HOME is not /huggingface"
  [[ $last == *"ENV HOME=/home/lerobot "* ]] || fail "$file" "HOME is not set: another --user has none"
  has_run "$last" 'chmod 1777 /work /huggingface /torch /home/lerobot' || fail "$file" "another --user cannot write to the mount points"
  has_run "$last" 'for program in /opt/lerobot/bin/\*; do "\$program" --help' || fail "$file" "the build does not start every program once"
  has_run "$build" '/docker/collect.sh /runtime' || fail "$file" "what runs is not collected"
  has_line "$last" 'COPY --from=build /runtime /' || fail "$file" "more than what runs is copied into the image"
}

# ./run and the images must build the same program from the same parts.
check_agreement() {
  local package
  for package in $run_packages; do
    [[ $build == *" $package "* ]] || fail "$file" "./run installs $package, the build stage does not"
  done
  check_requirement "$run_arrow"
}
check_requirement() { [[ $requirements == *" $1 "* ]] || fail "$file" "./run takes $1, the image does not"; }

check_every_file() {
  for file in Dockerfile.cpu Dockerfile.cuda Dockerfile.rocm Dockerfile.xpu; do
    read_dockerfile "$file"
    check_images
    check_packages
    check_copies
    check_start
    check_agreement
    "check_${file#Dockerfile.}"
  done
}

# ---- rules for one file ---------------------------------------------------------------------------------------------

check_wheel_of_run() {
  local requirement
  for requirement in $run_torch; do check_requirement "$requirement"; done
}

compile_part() { sed -n '/^# ---- compile/,/^# ---- end of compile/p' "$repository/docker/$1" | sed 1d; }

check_cpu() {
  check_wheel_of_run
  [[ -n $(compile_part Dockerfile.cpu) ]] || fail "$file" "the compile part is not marked"
}

check_cuda() {
  check_wheel_of_run
  [[ $(compile_part Dockerfile.cpu) == "$(compile_part Dockerfile.cuda)" ]] || fail "$file" "the compile part differs from Dockerfile.cpu's"
  [[ $last == *NVIDIA_DRIVER_CAPABILITIES=compute,utility* ]] || fail "$file" "the container toolkit is not told which parts of the driver are used"
}

check_rocm() {
  local text
  [[ ! $requirements =~ \ torch[=\<\>~!\ ] ]] || fail "$file" "replaces the base image's torch"
  has_run "$build" 'rocm_torch.sh >' || fail "$file" "the base image's torch is not checked for HIP"
  for text in "$build" "$last"; do
    has_run "$text" 'rocm_torch.sh \| diff /opt/lerobot/torch -' || fail "$file" "a changed torch is not noticed"
    has_run "$text" 'rocm_libraries.sh' || fail "$file" "the loader is not told where ROCm's libraries are"
  done
  check_render_group
}

check_xpu() {
  [[ $requirements == *" ${run_torch%% *}+xpu "* ]] || fail "$file" "its torch is not ./run's version for XPU"
  has_line "$all" 'ARG TORCH_INDEX' || fail "$file" "the package index has a default, or none can be given"
  check_render_group
}

check_render_group() { has_run "$last" 'groupadd .*render' || fail "$file" "has no group render, so --group-add render fails"; }

# ---- the README's commands ------------------------------------------------------------------------------------------

# The `docker run` lines of one section, continued lines joined.
run_commands() {
  awk -v title="## $1" '$0 == title {on = 1; next} /^## / {on = 0} on' "$repository/docker/README.md" |
    sed -e ':join' -e '/\\$/{N;s/\\\n/ /;b join' -e '}' -e 's/[[:space:]]\{1,\}/ /g' | grep -E '^ ?docker run'
}

# check_commands SECTION DOCKERFILE FLAG...
check_commands() {
  local section=$1 file=$2 commands flag
  shift 2
  commands=$(run_commands "$section" | head -n 1)
  [[ -n $commands ]] || fail README.md "'$section' has no docker run command"
  grep -qF "docker build -f docker/$file " "$repository/docker/README.md" || fail README.md "does not say how to build $file"
  # shellcheck disable=SC2016
  for flag in '--user "$(id -u):$(id -g)"' '-v "$PWD:/work"' ':/huggingface' lerobot-train "$@"; do
    [[ $commands == *"$flag"* ]] || fail README.md "the command of '$section' lacks $flag"
  done
}

# ---- all of it ------------------------------------------------------------------------------------------------------

[[ $(cd "$repository/docker" && echo Dockerfile.*) == "Dockerfile.cpu Dockerfile.cuda Dockerfile.rocm Dockerfile.xpu" ]] ||
  fail docker "expected exactly Dockerfile.cpu, .cuda, .rocm and .xpu"
run_packages=$(sed -n '/^library_packages=(/,/)/p' "$repository/run" | grep -oE '\b(lib|nlohmann)[a-z0-9-]+-dev\b' | grep -vE 'gtest|gmock')
run_torch=$(sed -n 's/^torch_requirements=(\(.*\))/\1/p' "$repository/run")
run_arrow=$(sed -n 's/^arrow_requirement=//p' "$repository/run")
[[ -n $run_packages && $run_torch == torch==* && $run_arrow == pyarrow==* ]] || fail run "its packages or requirements cannot be read"
check_every_file

for script in "$repository"/docker/*.sh; do
  bash -n "$script" 2>/dev/null || fail "$(basename "$script")" "bash cannot read it"
  grep -qE '^set -euo pipefail$' "$script" || fail "$(basename "$script")" "does not stop at the first failure"
done
grep -nEi 'https?://|\.(org|io|com)/' "$repository"/docker/* | grep -vE '^[^:]*README' && fail docker "names a host; take it as a build argument"

check_commands "CPU" Dockerfile.cpu
check_commands "NVIDIA" Dockerfile.cuda "--gpus all"
check_commands "AMD" Dockerfile.rocm --device=/dev/kfd --device=/dev/dri "--group-add video" "--group-add render" --ipc=host "--shm-size 16gb"
check_commands "Intel" Dockerfile.xpu --device=/dev/dri "--group-add render"
grep -q 'HIP_VISIBLE_DEVICES' "$repository/docker/README.md" || fail README.md "does not say how to choose an AMD GPU"

[[ $failures -eq 0 ]] && echo "all rules kept"
exit $((failures > 0))
