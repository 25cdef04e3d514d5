"""Measures lerobot-train and lerobot-eval beside a real LeRobot: launch, throughput, memory, the step of a default ACT,
and the evaluation of the quick start's policy.

The two programs take turns with the same data, seed, threads, precision and flags; a row shows the median of each and
the median of the ratios of neighbouring runs (above 1: ours is better). It asserts nothing. Standard library only.

LeRobot is found in --peer, $LEROBOT_PEER or ~/.cache/lerobot-peer (a virtual environment with lerobot[training]).
For video it should decode with torchcodec, which needs FFmpeg's shared libraries, libavdevice and libavfilter
included (Debian: apt install ffmpeg); the table names the backend in use.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEP = re.compile(r"\bstep:\S+ smpl:")
FIGURE = re.compile(r"\b(updt_s|data_s):([0-9.]+)")


class Program:
    """One of the two contestants."""

    def __init__(self, name, command, arguments):
        self.name, self.command, self.arguments = name, command, arguments
        self.environment = {
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": str(arguments.threads),
            "TOKENIZERS_PARALLELISM": "false",
        }

    def run(self, flags, memory=False):
        """Trains; returns the run's start, the arrival of every log line, its figures, and the peak PSS (if asked)."""
        with tempfile.TemporaryDirectory(prefix="lerobot-bench-") as scratch:
            common = [f"--policy.device={self.arguments.device}", "--save_checkpoint=false", f"--output_dir={scratch}/out"]
            start = time.monotonic()
            process = subprocess.Popen(
                [*map(str, self.command), *flags, *common], cwd=scratch, env=self.environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )  # fmt: skip
            watch = PeakMemory(process.pid) if memory else None
            record = {"arrivals": [], "updt_s": [], "data_s": []}
            tail = []
            for line in lines_of(process.stderr):
                tail = [*tail[-20:], line]
                if STEP.search(line):
                    record["arrivals"].append(time.monotonic() - start)
                    for name, value in FIGURE.findall(line):
                        record[name].append(float(value))
            if process.wait() != 0:
                raise SystemExit(f"{self.name} ended with exit code {process.returncode}:\n" + "\n".join(tail))
            if watch:
                record["peak_mib"] = watch.stop()
            return record


def lines_of(stream):
    """Lines as they arrive; a progress bar's carriage returns end a line too."""
    pending = b""
    while chunk := stream.read1(65536):
        *whole, pending = re.split(rb"[\r\n]", pending + chunk)
        yield from (line.decode(errors="replace") for line in whole)


class PeakMemory(threading.Thread):
    """Samples the proportional set size of a process and all its descendants, shared pages counted once."""

    def __init__(self, root_pid):
        super().__init__(daemon=True)
        self.root_pid, self.peak_kib, self.ended = root_pid, 0, threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(0.1):
            self.peak_kib = max(self.peak_kib, sum(map(pss_kib, descendants(self.root_pid))))

    def stop(self):
        self.ended.set()
        self.join()
        return self.peak_kib / 1024


def descendants(root_pid):
    children = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                stat = pathlib.Path(entry.path, "stat").read_text()
            except OSError:
                continue
            children.setdefault(int(stat.rsplit(")", 1)[1].split()[1]), []).append(int(entry.name))
    found, queue = [], [root_pid]
    while queue:
        found.append(queue.pop())
        queue += children.get(found[-1], [])
    return found


def pss_kib(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0)


# ---- what is measured -----------------------------------------------------------------------------------------------


def quickstart_flags():
    flags = [line for line in (ROOT / "data" / "quickstart.flags").read_text().splitlines() if line.startswith("--")]
    return [flag.replace("root=data/", f"root={ROOT}/data/") for flag in flags]


def video_flags(arguments):
    root = pathlib.Path(arguments.dataset_root).resolve()
    return [
        f"--dataset.repo_id=local/{root.name}", f"--dataset.root={root}", "--policy.type=act",
        "--policy.push_to_hub=false", "--policy.pretrained_backbone_weights=null",
        f"--batch_size={arguments.batch_size}", f"--num_workers={arguments.workers}", "--seed=1000", "--log_freq=1",
    ]  # fmt: skip


def launch_seconds(program, _):
    record = program.run([*quickstart_flags(), "--steps=1", "--log_freq=1"])
    return record["arrivals"][0]


def quickstart_samples_per_second(program, arguments):
    window, warm_up = 10, 2
    steps = arguments.quickstart_steps + warm_up * window
    record = program.run([*quickstart_flags(), f"--steps={steps}", f"--log_freq={window}"])
    arrivals = record["arrivals"][warm_up - 1 :]
    seconds = statistics.median(later - earlier for earlier, later in zip(arrivals, arrivals[1:]))
    return 64 * window / seconds


def quickstart_peak_mib(workers):
    """The quick start itself loads without workers; 4 is what both programs do by default."""
    flags = [*quickstart_flags(), f"--num_workers={workers}", "--steps=30", "--log_freq=10"]
    return lambda program, _: program.run(flags, memory=True)["peak_mib"]


def video_step(program, arguments):
    """Medians after the warm-up: the update alone, and the whole step by the arrival of the log lines."""
    warm_up = 2
    record = program.run([*video_flags(arguments), f"--steps={arguments.video_steps + warm_up}"])
    arrivals = record["arrivals"][warm_up - 1 :]
    return {
        "update": statistics.median(record["updt_s"][warm_up:]),
        "step": statistics.median(later - earlier for earlier, later in zip(arrivals, arrivals[1:])),
    }


def video_peak_mib(program, arguments):
    return program.run([*video_flags(arguments), "--steps=4"], memory=True)["peak_mib"]


def evaluation_policy(arguments, scratch):
    """What both evaluate: the policy that was named, else the quick start, trained to where it pushes the block."""
    if arguments.eval_policy:
        return pathlib.Path(arguments.eval_policy).resolve()
    print(f"training the quick start for {arguments.eval_train_steps} steps", file=sys.stderr, flush=True)
    steps = [f"--steps={arguments.eval_train_steps}", f"--save_freq={arguments.eval_train_steps}"]
    command = [arguments.program.resolve(), *quickstart_flags(), *steps, f"--output_dir={scratch}/policy"]
    result = subprocess.run(list(map(str, command)), cwd=scratch, capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(f"training ended with exit code {result.returncode}:\n{result.stderr[-2000:]}")
    return pathlib.Path(scratch, "policy", "checkpoints", "last", "pretrained_model")


def evaluation(policy):
    """Episodes of PushT with keypoints; the first ten are filmed. LeRobot steps the environments of a batch in turn:
    its asynchronous ones do not run gym_pusht."""

    def measure(program, arguments):
        name = "lerobot-eval"
        with tempfile.TemporaryDirectory(prefix="lerobot-bench-") as scratch:
            flags = [
                f"--policy.path={policy}", f"--policy.device={arguments.device}", "--policy.push_to_hub=false",
                "--env.type=pusht", "--env.obs_type=environment_state_agent_pos", "--seed=5000",
                f"--eval.n_episodes={arguments.eval_episodes}", f"--eval.batch_size={arguments.eval_batch_size}",
                f"--output_dir={scratch}/out", *([] if program.name == "ours" else ["--eval.use_async_envs=false"]),
            ]  # fmt: skip
            start = time.monotonic()
            result = subprocess.run(
                [str(program.command[0].with_name(name)), *flags], cwd=scratch, env=program.environment,
                stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            )  # fmt: skip
            wall = time.monotonic() - start
            if result.returncode != 0:
                raise SystemExit(f"{program.name}: {name} ended with exit code {result.returncode}:\n{result.stderr[-2000:]}")
            overall = json.loads(pathlib.Path(scratch, "out", "eval_info.json").read_text())["overall"]
            videos = len(list(pathlib.Path(scratch, "out", "videos").rglob("*.mp4")))
            return {"wall": wall, "eval": overall["eval_s"], "success": overall["pc_success"], "videos": videos}

    return measure


def evaluation_rows(programs, arguments):
    with tempfile.TemporaryDirectory(prefix="lerobot-bench-") as scratch:
        values = take_turns(evaluation(evaluation_policy(arguments, scratch)), programs, arguments, arguments.rounds)
    label = f"{arguments.eval_episodes} episodes of PushT"
    series = {part: {side: [run[part] for run in runs] for side, runs in values.items()} for part in ("eval", "wall")}
    done = {side: [{name: run[name] for name in ("success", "videos")} for run in runs] for side, runs in values.items()}
    yield {**row(f"{label}: eval_s", "s", series["eval"]), "results": done}
    yield row(f"{label}: whole program", "s", series["wall"])
    rates = {side: [arguments.eval_episodes / seconds for seconds in runs] for side, runs in series["eval"].items()}
    yield row(f"{label}: rate", "episodes/s", rates, higher_is_better=True)


def take_turns(measure, programs, arguments, rounds):
    """measure(program) for both, `rounds` times, the first one changing; {name: [values]}."""
    values = {program.name: [] for program in programs}
    for index in range(rounds):
        for program in programs if index % 2 == 0 else programs[::-1]:
            values[program.name].append(measure(program, arguments))
    return values


def row(label, unit, values, higher_is_better=False):
    pairs = zip(values["ours"], values["LeRobot"])
    ratios = [ours / theirs if higher_is_better else theirs / ours for ours, theirs in pairs]
    medians = {name: statistics.median(series) for name, series in values.items()}
    return {"label": label, "unit": unit, **medians, "ratio": statistics.median(ratios), "runs": values}


def measure_all(programs, arguments):
    rounds, wanted = arguments.rounds, set(arguments.only or PARTS)
    if "launch" in wanted:
        yield row("launch to the first step", "s", take_turns(launch_seconds, programs, arguments, rounds))
    if "throughput" in wanted:
        values = take_turns(quickstart_samples_per_second, programs, arguments, rounds)
        yield row("quick start", "samples/s", values, higher_is_better=True)
    if "video" in wanted:
        name = pathlib.Path(arguments.dataset_root).name
        values = take_turns(video_step, programs, arguments, rounds)
        for part, label in (("update", "update"), ("step", "whole step")):
            series = {side: [run[part] for run in runs] for side, runs in values.items()}
            yield row(f"default ACT, {name}: {label}", "s", series)
    if "memory" in wanted:
        for workers in (0, 4):
            peaks = take_turns(quickstart_peak_mib(workers), programs, arguments, 1)
            yield row(f"quick start, num_workers={workers}: peak PSS", "MiB", peaks)
        yield row("default ACT, video: peak PSS", "MiB", take_turns(video_peak_mib, programs, arguments, 1))
    if "eval" in wanted:
        yield from evaluation_rows(programs, arguments)


PARTS = ("launch", "throughput", "video", "memory", "eval")

# ---- report ---------------------------------------------------------------------------------------------------------


def machine():
    model = platform.processor()
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
        model = re.search(r"model name\s*: (.*)", text).group(1)
    except (OSError, AttributeError):
        pass
    return {"cpu": model, "cores": len(os.sched_getaffinity(0)), "load_at_start": os.getloadavg()[0]}


PEER_REPORT = """
import json, lerobot, torch
try:
    import torchcodec
    backend = f"torchcodec {torchcodec.__version__}, FFmpeg {torchcodec.ffmpeg_major_version}"
except Exception:
    backend = "PyAV: torchcodec can't load FFmpeg's libraries"
print(json.dumps({"lerobot": lerobot.__version__, "torch": torch.__version__, "video_backend": backend}))
"""


def peer_report(python):
    result = subprocess.run([python, "-c", PEER_REPORT], capture_output=True, text=True)
    if result.returncode != 0:
        return {"lerobot": "unknown", "torch": "unknown", "video_backend": "unknown: " + result.stderr.strip()[-200:]}
    return json.loads(result.stdout.splitlines()[-1])


def find_peer(arguments):
    folder = pathlib.Path(arguments.peer or os.environ.get("LEROBOT_PEER") or "~/.cache/lerobot-peer").expanduser()
    if not (folder / "bin" / "lerobot-train").exists():
        raise SystemExit(
            f"bench: no LeRobot in {folder}. Make a virtual environment with `pip install 'lerobot[training]==0.6.1' "
            "'torch==2.11.0'` and name it with --peer or LEROBOT_PEER."
        )
    return folder


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="our lerobot-train, with lerobot-eval beside it (./run bench names it)")
    parser.add_argument("--peer", help="virtual environment that holds LeRobot")
    parser.add_argument("--json", type=pathlib.Path, help="also write everything that was measured to this file")
    parser.add_argument("--only", action="append", choices=PARTS, help="measure this part alone; may be repeated")
    parser.add_argument("--rounds", type=int, default=3, help="turns a measurement (default 3)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="OMP_NUM_THREADS of both (default: all cores)")
    parser.add_argument("--device", default="cpu", help="policy.device of both (default cpu)")
    parser.add_argument("--dataset-root", default=ROOT / "data" / "pusht_demo_image", help="dataset with video for the default ACT")
    parser.add_argument("--batch-size", type=int, default=8, help="of the default ACT")
    parser.add_argument("--workers", type=int, default=2, help="num_workers of the default ACT")
    parser.add_argument("--quickstart-steps", type=int, default=100, help="measured steps of the quick start")
    parser.add_argument("--video-steps", type=int, default=8, help="measured steps of the default ACT")
    parser.add_argument("--eval-policy", help="pretrained_model folder to evaluate (default: trains the quick start)")
    parser.add_argument("--eval-train-steps", type=int, default=3000, help="steps of the quick start before its evaluation")
    parser.add_argument("--eval-episodes", type=int, default=50, help="episodes of an evaluation")
    parser.add_argument("--eval-batch-size", type=int, default=25, help="environments side by side, of both")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    peer = find_peer(arguments)
    about = {
        **machine(), "threads": arguments.threads, "device": arguments.device, "precision": "fp32",
        "rounds": arguments.rounds, "peer": peer_report(peer / "bin" / "python"),
    }  # fmt: skip
    print("{cpu}, {cores} cores, load {load_at_start:.1f}; {threads} threads, {device}, {precision}".format(**about))
    print("LeRobot {lerobot}, torch {torch}, video by {video_backend}\n".format(**about["peer"]))
    programs = [
        Program("ours", [arguments.program.resolve()], arguments),
        Program("LeRobot", [peer / "bin" / "lerobot-train", "--wandb.enable=false"], arguments),
    ]
    if "eval" in (arguments.only or PARTS) and not arguments.program.with_name("lerobot-eval").exists():
        raise SystemExit(f"bench: no lerobot-eval beside {arguments.program}; choose parts without it with --only")
    print(f"{'':44} {'ours':>10} {'LeRobot':>10} {'ratio':>7}", flush=True)
    rows = []
    for measured in measure_all(programs, arguments):
        rows.append(measured)
        digits = {"s": 3, "episodes/s": 2}.get(measured["unit"], 0)
        label = f"{measured['label']} [{measured['unit']}]"
        print(f"{label:44} {measured['ours']:10.{digits}f} {measured['LeRobot']:10.{digits}f} {measured['ratio']:6.2f}x", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps({"about": about, "rows": rows}, indent=2) + "\n")
        print(f"\nwritten: {arguments.json}")


if __name__ == "__main__":
    sys.exit(main())
