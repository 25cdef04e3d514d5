"""lerobot-train beside a real LeRobot: the same losses, and checkpoints that pass both ways.

Usage: interop.py CASE --program LEROBOT_TRAIN --peer PYTHON --dataset FOLDER
  lerobot_reads_ours   we train and save; LeRobot computes the same loss from our checkpoint, then resumes it
  same_losses          both train from the same seed and their losses agree for 20 steps, also when we resume LeRobot's
                       checkpoint in the middle
  same_next_step       one step from the other's checkpoint, both ways, gives the loss and the weights that the other's
                       own next step gives; a new run that starts from LeRobot's policy has LeRobot's first loss

Standard library only. Policies here have no dropout and no VAE, so that no random number enters a loss.
"""

import argparse
import array
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SAME_FORWARD = 1e-4  # relative: one forward pass from the same weights on the same batch
SAME_STEP = 1e-5  # relative: one training step from the same weights and the same optimizer state
SAME_TRAINING = 1e-3  # relative: after steps of training, where rounding has had time to grow

POLICY = [
    "--policy.type=act", "--policy.device=cpu", "--policy.push_to_hub=false",
    "--policy.pretrained_backbone_weights=null", "--policy.dim_model=64", "--policy.dim_feedforward=128",
    "--policy.n_heads=4", "--policy.n_encoder_layers=2", "--policy.chunk_size=8", "--policy.n_action_steps=8",
    "--policy.use_vae=false", "--policy.dropout=0.0",
    '--policy.normalization_mapping={"VISUAL":"MEAN_STD","STATE":"MEAN_STD","ENV":"MEAN_STD","ACTION":"MEAN_STD"}',
]  # fmt: skip
LOOP = ["--batch_size=4", "--num_workers=0", "--log_freq=1", "--seed=1000", "--wandb.enable=false"]
PRESET = ["--policy.optimizer_lr=1e-4", "--policy.optimizer_lr_backbone=1e-5"]
SCHEDULE = [
    "--use_policy_training_preset=false", "--optimizer.type=adamw", "--optimizer.lr=1e-3",
    "--optimizer.weight_decay=1e-4", "--scheduler.type=cosine_decay_with_warmup", "--scheduler.num_warmup_steps=3",
    "--scheduler.num_decay_steps=30", "--scheduler.peak_lr=1e-3", "--scheduler.decay_lr=2e-5",
]  # fmt: skip


class Pair:
    """The two programs, one data set, one scratch folder."""

    def __init__(self, program, peer, dataset, scratch):
        self.program, self.peer, self.dataset, self.scratch = program, peer, pathlib.Path(dataset).resolve(), scratch
        # One thread each: the same sums in the same order, and no collapse on a busy machine.
        self.environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}

    def run_flags(self, output_dir):
        """Everything but the policy."""
        features = json.loads((self.dataset / "meta" / "info.json").read_text())["features"]
        has_camera = any(feature["dtype"] in ("image", "video") for feature in features.values())
        # Cameras: the preset with the backbone's group. Without: our own optimizer and a schedule.
        optimizer = PRESET if has_camera else SCHEDULE
        name = f"--dataset.repo_id=local/{self.dataset.name}"
        return [name, f"--dataset.root={self.dataset}", f"--output_dir={output_dir}", *LOOP, *optimizer]

    def fresh_flags(self, output_dir):
        return [*self.run_flags(output_dir), *POLICY]

    def fine_tune_flags(self, step_dir, output_dir):
        policy = [f"--policy.path={step_dir / 'pretrained_model'}", "--policy.push_to_hub=false"]
        return [*self.run_flags(output_dir), *policy]

    def resume_flags(self, step_dir, output_dir):
        config = step_dir / "pretrained_model" / "train_config.json"
        return ["--resume=true", f"--config_path={config}", f"--output_dir={output_dir}"]

    def run(self, command):
        result = subprocess.run(
            [str(part) for part in command], cwd=self.scratch, env=self.environment, capture_output=True, text=True
        )
        if result.returncode != 0:
            print(result.stderr[-4000:], file=sys.stderr)
            raise SystemExit(f"exit code {result.returncode} of {command[0]} {command[1]}")
        return result.stdout

    def ours(self, flags, output_dir):
        """Trains with our program; its figures by step."""
        self.run([self.program, *flags])
        return read_figures(output_dir / "metrics.jsonl")

    def lerobot(self, flags, name):
        figures = self.scratch / f"{name}.jsonl"
        self.run([self.peer, HERE / "record_losses.py", figures, *flags])
        return read_figures(figures)


def read_figures(path):
    return {record["step"]: record for record in map(json.loads, path.read_text().splitlines())}


def relative_difference(ours, theirs):
    return abs(ours - theirs) / max(abs(theirs), 1e-12)


def expect_equal(what, ours, theirs, tolerance):
    difference = relative_difference(ours, theirs)
    if not difference <= tolerance:
        raise SystemExit(f"{what}: ours {ours!r}, LeRobot's {theirs!r}, relative difference {difference:.2e} > {tolerance}")
    return difference


def compare_steps(ours, theirs, steps):
    worst = {"loss": 0.0, "grad_norm": 0.0}
    for step in steps:
        if step not in ours or step not in theirs:
            raise SystemExit(f"step {step} is missing: ours logged {sorted(ours)}, LeRobot {sorted(theirs)}")
        # A norm is a sum over every gradient and moves more than the loss does.
        for name, tolerance in (("loss", SAME_TRAINING), ("grad_norm", 10 * SAME_TRAINING)):
            difference = expect_equal(f"{name} of step {step}", ours[step][name], theirs[step][name], tolerance)
            worst[name] = max(worst[name], difference)
        expect_equal(f"lr of step {step}", ours[step]["lr"], theirs[step]["lr"], 1e-12)
    print(f"steps {steps[0]}..{steps[-1]}: largest relative difference "
          + ", ".join(f"{name} {value:.1e}" for name, value in worst.items()))


def read_weights(step_dir):
    """The float32 tensors of a checkpoint's policy: name to array."""
    content = (step_dir / "pretrained_model" / "model.safetensors").read_bytes()
    (header_size,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + header_size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + header_size + offset for offset in entry["data_offsets"])
        if entry["dtype"] != "F32":
            raise SystemExit(f"{name} of {step_dir} is of type {entry['dtype']}")
        tensors[name] = array.array("f", content[begin:end])
    return tensors


def compare_weights(what, ours_dir, theirs_dir):
    """Compares all weights as one vector. Tensor by tensor would not do: some have no gradient but rounding (the bias of
    an attention's keys, say), of which Adam makes steps of full length."""
    ours, theirs = read_weights(ours_dir), read_weights(theirs_dir)
    if ours.keys() != theirs.keys():
        raise SystemExit(f"{what}: names differ: {sorted(ours.keys() ^ theirs.keys())}")
    difference = math.hypot(*(math.dist(ours[name], theirs[name]) for name in ours))
    norm = math.hypot(*(math.dist(values, array.array("f", bytes(4 * len(values)))) for values in theirs.values()))
    if not difference <= SAME_STEP * norm:
        raise SystemExit(f"{what}: weights differ by {difference / norm:.2e} of their norm > {SAME_STEP}")
    print(f"{what}: weights differ by {difference / norm:.1e} of their norm")


def compare_one_step(what, ours, theirs, ours_dir, theirs_dir):
    difference = expect_equal(f"{what}: loss of step 5", ours[5]["loss"], theirs[5]["loss"], SAME_STEP)
    print(f"{what}: loss of step 5 differs by {difference:.1e}")
    compare_weights(what, ours_dir / "checkpoints" / "000005", theirs_dir / "checkpoints" / "000005")


def lerobot_reads_ours(pair):
    out = pair.scratch / "ours"
    ours = pair.ours([*pair.fresh_flags(out), "--steps=8", "--save_freq=4"], out)
    step_dir = out / "checkpoints" / "000004"

    loaded = json.loads(pair.run([pair.peer, HERE / "checkpoint_loss.py", step_dir]).splitlines()[-1])
    difference = expect_equal("loss from our checkpoint", ours[loaded["step"]]["loss"], loaded["loss"], SAME_FORWARD)
    print(f"step {loaded['step']}: loss from our checkpoint differs by {difference:.1e}")

    theirs = pair.lerobot(pair.resume_flags(step_dir, pair.scratch / "lerobot"), "lerobot")
    compare_steps(ours, theirs, range(5, 9))


def same_losses(pair):
    fresh = ["--steps=20", "--save_freq=10"]
    lerobot_out, ours_out, resumed_out = (pair.scratch / name for name in ("lerobot", "ours", "ours-on"))
    theirs = pair.lerobot([*pair.fresh_flags(lerobot_out), *fresh], "lerobot")
    compare_steps(pair.ours([*pair.fresh_flags(ours_out), *fresh], ours_out), theirs, range(1, 21))

    step_dir = lerobot_out / "checkpoints" / "000010"
    compare_steps(pair.ours(pair.resume_flags(step_dir, resumed_out), resumed_out), theirs, range(11, 21))


def same_next_step(pair):
    fresh = ["--steps=5", "--save_freq=4"]
    ours_out, theirs_out, resumed_out, tuned_out = (
        pair.scratch / name for name in ("ours", "lerobot", "resumed", "tuned")
    )
    ours = pair.ours([*pair.fresh_flags(ours_out), *fresh], ours_out)
    resumed = pair.lerobot(pair.resume_flags(ours_out / "checkpoints" / "000004", resumed_out), "resumed")
    compare_one_step("LeRobot resumes ours", ours, resumed, ours_out, resumed_out)

    resumed_out = pair.scratch / "ours-resumed"
    theirs = pair.lerobot([*pair.fresh_flags(theirs_out), *fresh], "lerobot")
    step_dir = theirs_out / "checkpoints" / "000004"
    resumed = pair.ours(pair.resume_flags(step_dir, resumed_out), resumed_out)
    compare_one_step("we resume LeRobot's", resumed, theirs, resumed_out, theirs_out)

    first = ["--steps=1", "--save_checkpoint=true"]
    tuned = pair.ours([*pair.fine_tune_flags(step_dir, tuned_out), *first], tuned_out)
    theirs = pair.lerobot([*pair.fine_tune_flags(step_dir, pair.scratch / "lerobot-tuned"), *first], "lerobot-tuned")
    difference = expect_equal("first loss from LeRobot's policy", tuned[1]["loss"], theirs[1]["loss"], SAME_STEP)
    print(f"first loss of a new run from LeRobot's policy differs by {difference:.1e}")


CASES = {"lerobot_reads_ours": lerobot_reads_ours, "same_losses": same_losses, "same_next_step": same_next_step}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--program", required=True, help="our lerobot-train")
    parser.add_argument("--peer", required=True, help="the Python that has LeRobot")
    parser.add_argument("--dataset", required=True, help="a LeRobotDataset v3.0")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lerobot-peer-") as scratch:
        CASES[arguments.case](Pair(pathlib.Path(arguments.program).resolve(), arguments.peer, arguments.dataset, pathlib.Path(scratch)))


if __name__ == "__main__":
    main()
