"""lerobot-eval beside a real LeRobot's: the same policy in the same episodes.

Usage: evaluation.py CASE --train LEROBOT_TRAIN --program LEROBOT_EVAL --peer PYTHON
  same_episodes      keypoints: scores, files, videos, and the actions of the policy themselves; a nudge of 0.01 pixel
                     to the actions shows in the scores
  same_pictures      a policy with a camera: scores and videos
  python_backend     PushT in Python (gym_pusht) and our native one give the same episodes and the same films
  aloha              gym_aloha, rendered with EGL, runs, is filmed, and leaves no process behind

The policies are trained here for a moment by our lerobot-train, with the data of this repository. Standard library
only.
Exit code 77: skipped, what is missing is said.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import uuid

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SKIPPED = 77

# Pixels. Actions are float32 of 256 to 512, whose unit in the last place is 3e-5.
SAME_ACTION = 2e-4
# Rewards lie in 0 to 1, their sums are compared relatively. What rounding does to an action (1e-4 pixel), contacts
# between the bodies amplify from step to step; episodes are kept to 100 steps for that.
SAME_REWARD = 2e-4
# Relative. Between two simulations that are given the same actions, bit for bit: only the sums' order differs.
SAME_SIMULATION = 1e-12
# Mean difference of a video's pixels, in levels of 255: two versions of x264 at the same setting.
SAME_PICTURE = 2.0
NUDGE = 0.01  # pixels

CAMERA_POLICY = [
    "--policy.type=act", "--policy.pretrained_backbone_weights=null", "--policy.dim_model=64",
    "--policy.dim_feedforward=128", "--policy.n_heads=4", "--policy.n_encoder_layers=2", "--policy.chunk_size=8",
    "--policy.n_action_steps=8", "--policy.use_vae=false", "--policy.dropout=0.0",
]  # fmt: skip
ON_CPU = ["--policy.device=cpu", "--policy.push_to_hub=false"]
KEYPOINTS = ["--env.obs_type=environment_state_agent_pos"]
# LeRobot's asynchronous environments do not run gym_pusht.
THEIRS = ["--eval.use_async_envs=false"]


class Result:
    """What an evaluation left in its folder."""

    def __init__(self, folder):
        self.folder = folder
        self.info = json.loads((folder / "eval_info.json").read_text())
        (self.task,) = self.info["per_task"]
        metrics = self.task["metrics"]
        self.sums, self.maxima, self.successes = (metrics[name] for name in ("sum_rewards", "max_rewards", "successes"))

    def videos(self):
        return self.folder / "videos" / f"{self.task['task_group']}_{self.task['task_id']}"


class Bench:
    """The programs and one scratch folder."""

    def __init__(self, arguments, scratch):
        self.train_program, self.program, self.peer = arguments.train, arguments.program, arguments.peer
        self.scratch = scratch
        # One thread each: the same sums in the same order, and no collapse on a busy machine.
        self.environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}

    def run(self, command, **variables):
        result = subprocess.run(
            [str(part) for part in command], cwd=self.scratch, env={**self.environment, **variables},
            capture_output=True, text=True,
        )  # fmt: skip
        if result.returncode != 0:
            print(result.stderr[-4000:], file=sys.stderr)
            raise SystemExit(f"exit code {result.returncode} of {command[0]} {command[1]}")
        return result.stdout

    def train(self, flags):
        out = self.scratch / "train"
        self.run([self.train_program, *flags, *ON_CPU, "--num_workers=0", f"--output_dir={out}"])
        return out / "checkpoints" / "last" / "pretrained_model"

    def keypoint_policy(self):
        lines = (ROOT / "data" / "quickstart.flags").read_text().splitlines()
        flags = [line.replace("root=data/", f"root={ROOT}/data/") for line in lines if line.startswith("--")]
        short = ["--steps=300", "--save_freq=300", "--batch_size=16", "--scheduler.num_warmup_steps=20",
                 "--scheduler.num_decay_steps=300", "--seed=1"]  # fmt: skip
        return self.train([*flags, *short])

    def camera_policy(self):
        dataset = ROOT / "data" / "pusht_demo_image"
        data = [f"--dataset.repo_id=local/{dataset.name}", f"--dataset.root={dataset}"]
        return self.train([*data, *CAMERA_POLICY, "--steps=4", "--save_freq=4", "--batch_size=2", "--seed=1000"])

    def evaluate(self, name, flags, **variables):
        out = self.scratch / name
        self.run([self.program, *flags, *ON_CPU, f"--output_dir={out}"], **variables)
        return Result(out)

    def lerobot(self, name, flags):
        """LeRobot's evaluation, and the folder in which its actions are recorded."""
        out, actions = self.scratch / name, self.scratch / f"{name}-actions"
        actions.mkdir()
        command = [self.peer, HERE / "recorded_pusht.py", *flags, *ON_CPU, *THEIRS, f"--output_dir={out}"]
        self.run(command, RECORDED_ACTIONS=str(actions))
        return Result(out), actions

    def recorded(self, name, flags, offset=0.0):
        """Ours with gym_pusht, which records the actions it is given."""
        actions = self.scratch / f"{name}-actions"
        actions.mkdir()
        # By LeRobot's settings for PushT.
        kwargs = {"obs_type": "environment_state_agent_pos", "visualization_width": 384, "visualization_height": 384}
        environment = ["--env.type=gym", "--env.gym_id=gym_pusht/PushT-v0", '--env.imports=["recorded_pusht"]',
                       f"--env.kwargs={json.dumps(kwargs)}", f"--env.python={self.peer}"]  # fmt: skip
        path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
        variables = {"RECORDED_ACTIONS": str(actions), "ACTION_OFFSET": str(offset), "PYTHONPATH": path}
        return self.evaluate(name, [*flags, *environment], **variables), actions

    def compare_videos(self, ours, theirs, wanted):
        lines = self.run([self.peer, HERE / "compare_videos.py", ours.videos(), theirs.videos()]).splitlines()
        videos = [json.loads(line) for line in lines]
        expect(f"{wanted} videos", len(videos) == wanted, [video["name"] for video in videos])
        for video in videos:
            expect(f"the format of {video['name']}", video["ours"] == video["theirs"], video)
            expect(f"the pictures of {video['name']}", video["difference"] <= SAME_PICTURE, video)
        worst = max(video["difference"] for video in videos)
        print(f"{wanted} videos of the same format and length; their pixels differ by {worst:.2f} levels at most")


def expect(what, holds, evidence):
    if not holds:
        raise SystemExit(f"{what}: {evidence}")


def missing_keys(theirs, ours, where=""):
    """The keys of nested dictionaries that ours lacks or holds as something else."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key, value in theirs.items():
            if key not in ours:
                yield f"{where}/{key}"
            else:
                yield from missing_keys(value, ours[key], f"{where}/{key}")
    elif isinstance(theirs, list) and isinstance(ours, list):
        if len(theirs) != len(ours):
            yield f"{where}: {len(ours)} entries, LeRobot {len(theirs)}"
        for index, (left, right) in enumerate(zip(theirs, ours)):
            yield from missing_keys(left, right, f"{where}/{index}")
    elif type(theirs) is not type(ours):
        yield f"{where}: {type(ours).__name__}, LeRobot {type(theirs).__name__}"


def compare_info(ours, theirs):
    differences = list(missing_keys(theirs.info, ours.info))
    expect("eval_info.json", not differences, differences)
    expect("keys of ours alone", ours.info.keys() - theirs.info.keys() == {"lerobot_cpp"}, list(ours.info))
    extra = ours.task["metrics"].keys() - theirs.task["metrics"].keys()
    expect("metrics of ours alone", extra == {"seeds", "lengths"}, extra)
    for group in ("per_group", "overall"):
        difference = ours.info[group].keys() ^ theirs.info[group].keys()
        expect(f"the keys of {group}", not difference, difference)


def worst_sum(ours, theirs):
    """Largest difference of the summed rewards, relative where a sum is above 1."""
    return max(abs(a - b) / max(1.0, abs(b)) for a, b in zip(ours.sums, theirs.sums, strict=True))


def compare_scores(ours, theirs):
    expect("successes", ours.successes == theirs.successes, (ours.successes, theirs.successes))
    worst = max(abs(a - b) for a, b in zip(ours.maxima, theirs.maxima, strict=True))
    expect("max_rewards", worst <= SAME_REWARD, (worst, ours.maxima, theirs.maxima))
    expect("sum_rewards", worst_sum(ours, theirs) <= SAME_REWARD, (ours.sums, theirs.sums))
    # Episodes in which nothing happens would prove nothing.
    expect("episodes with a reward", sum(value > 0 for value in ours.sums) * 2 >= len(ours.sums), ours.sums)
    print(f"{len(ours.sums)} episodes: max_rewards differ by {worst:.1e}, sum_rewards by {worst_sum(ours, theirs):.1e}")


def read_actions(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def compare_actions(ours, theirs, seeds, chunk):
    """Only the first chunk of actions is decided from the very same observations."""
    first = whole = 0.0
    for seed in seeds:
        pair = [read_actions(folder / f"{seed}.jsonl") for folder in (ours, theirs)]
        expect(f"steps of seed {seed}", len(pair[0]) == len(pair[1]) >= chunk, [len(actions) for actions in pair])
        differences = [max(abs(a - b) for a, b in zip(*actions, strict=True)) for actions in zip(*pair)]
        first, whole = max(first, *differences[:chunk]), max(whole, *differences)
    expect("actions for the first observations, pixels", first <= SAME_ACTION, first)
    print(f"actions differ by {first:.1e} pixels in the first {chunk} steps, by {whole:.1e} in whole episodes")


def same_episodes(bench):
    policy = f"--policy.path={bench.keypoint_policy()}"
    flags = [policy, "--eval.n_episodes=12", "--eval.batch_size=4", "--seed=5000", "--env.episode_length=100"]
    pusht = ["--env.type=pusht", *KEYPOINTS]
    ours = bench.evaluate("ours", [*flags, *pusht])
    theirs, their_actions = bench.lerobot("lerobot", [*flags, *pusht])
    compare_info(ours, theirs)
    compare_scores(ours, theirs)
    bench.compare_videos(ours, theirs, 10)  # of twelve episodes

    in_python, our_actions = bench.recorded("recorded", flags)
    compare_scores(in_python, theirs)
    compare_actions(our_actions, their_actions, range(5000, 5012), chunk=8)

    nudged, _ = bench.recorded("nudged", flags, offset=NUDGE)
    effect = worst_sum(nudged, theirs)
    expect(f"what {NUDGE} pixel does to sum_rewards, which must not pass for equal", effect > SAME_REWARD, effect)
    print(f"{NUDGE} pixel more in every action moves sum_rewards by {effect:.1e}")


def same_pictures(bench):
    flags = [f"--policy.path={bench.camera_policy()}", "--eval.n_episodes=2", "--eval.batch_size=2", "--seed=5000",
             "--env.type=pusht", "--env.obs_type=pixels_agent_pos", "--env.episode_length=30"]  # fmt: skip
    ours, (theirs, _) = bench.evaluate("ours", flags), bench.lerobot("lerobot", flags)
    compare_info(ours, theirs)
    compare_scores(ours, theirs)
    bench.compare_videos(ours, theirs, 2)


def read_episodes(result):
    lines = (result.folder / "episodes.jsonl").read_text().splitlines()
    return sorted(map(json.loads, lines), key=lambda record: record["episode"])


def compare_episodes(what, ours, theirs):
    """episodes.jsonl: rewards up to the rounding of their arithmetic, all else exactly."""
    records, expected = read_episodes(ours), read_episodes(theirs)
    expect(what, len(records) == len(expected), (records, expected))
    for left, right in zip(records, expected):
        for name in ("sum_reward", "max_reward"):
            a, b = left.pop(name), right.pop(name)
            expect(f"{what}: {name}", abs(a - b) <= SAME_SIMULATION * max(1.0, abs(b)), (a, b, left))
        expect(what, left == right, (left, right))
    for path in sorted(theirs.videos().iterdir()):
        same = path.read_bytes() == (ours.videos() / path.name).read_bytes()
        expect(f"{what}: {path.name}", same, "the two films are not the same bytes")
    print(f"{what}: {len(expected)} episodes and {len(list(theirs.videos().iterdir()))} films are the same")


def python_backend(bench):
    flags = [f"--policy.path={bench.keypoint_policy()}", "--eval.n_episodes=6", "--eval.batch_size=3", "--seed=5000",
             "--env.type=pusht", *KEYPOINTS, "--env.episode_length=100"]  # fmt: skip
    native = bench.evaluate("native", flags)
    python = [*flags, "--env.backend=python", f"--env.python={bench.peer}"]
    compare_episodes("a process for each", bench.evaluate("processes", python), native)
    compare_episodes("one process", bench.evaluate("process", [*python, "--eval.use_async_envs=false"]), native)


def processes_with(variable):
    """Those whose environment has it: NAME=VALUE."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if variable.encode() in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
        except OSError:  # it ended, or is somebody else's
            pass
    return found


RENDERS_ALOHA = """
import gym_aloha, gymnasium
env = gymnasium.make("gym_aloha/AlohaTransferCube-v0", obs_type="pixels_agent_pos", render_mode="rgb_array")
env.reset(seed=0)
env.close()
"""


def aloha(bench):
    bench.environment["MUJOCO_GL"] = "egl"
    probe = subprocess.run([bench.peer, "-c", RENDERS_ALOHA], env=bench.environment, capture_output=True, text=True)
    if probe.returncode != 0:
        reason = (probe.stderr.strip().splitlines() or [f"exit code {probe.returncode}"])[-1]
        print(f"skipped: {bench.peer} does not render gym_aloha with EGL: {reason}")
        raise SystemExit(SKIPPED)
    marker = str(uuid.uuid4())
    flags = [*CAMERA_POLICY, "--env.type=aloha", "--env.task=AlohaTransferCube-v0", "--env.episode_length=6",
             f"--env.python={bench.peer}", "--seed=1"]  # fmt: skip
    for count in (1, 2):  # two: a process for each
        batch = [f"--eval.n_episodes={count}", f"--eval.batch_size={count}"]
        result = bench.evaluate(f"aloha{count}", [*flags, *batch], LEROBOT_PEER_MARKER=marker)
        left = processes_with(f"LEROBOT_PEER_MARKER={marker}")
        expect("processes left behind", not left, left)
        expect("lengths", result.task["metrics"]["lengths"] == [6] * count, result.task)
        videos = sorted(path.name for path in result.videos().iterdir())
        expect("videos", videos == [f"eval_episode_{index}.mp4" for index in range(count)], videos)
        for path in result.videos().iterdir():
            expect(f"the size of {path.name}", path.stat().st_size > 2000, path.stat().st_size)
        print(f"gym_aloha: {count} episodes of 6 steps, filmed; no process is left")


CASES = {case.__name__: case for case in (same_episodes, same_pictures, python_backend, aloha)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--train", type=pathlib.Path, required=True, help="our lerobot-train")
    parser.add_argument("--program", type=pathlib.Path, required=True, help="our lerobot-eval")
    parser.add_argument("--peer", required=True, help="the Python that has LeRobot, gym_pusht and gym_aloha")
    arguments = parser.parse_args()
    arguments.train, arguments.program = arguments.train.resolve(), arguments.program.resolve()
    with tempfile.TemporaryDirectory(prefix="lerobot-peer-") as scratch:
        CASES[arguments.case](Bench(arguments, pathlib.Path(scratch)))


if __name__ == "__main__":
    main()
