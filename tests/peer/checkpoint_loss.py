"""Loads a checkpoint with a real LeRobot and prints the training loss of the batch that the next step would see.

Usage: checkpoint_loss.py STEP_DIR   e.g. out/checkpoints/000004; stdout: {"step": 5, "loss": ...}
The policy's weights must fit exactly; the processors come from the checkpoint, the order of samples from the seed.
Only for steps of the first epoch and for policies without dropout and VAE, whose loss depends on no random number.
"""

import json
import pathlib
import sys

import torch
from lerobot.configs.train import TrainPipelineConfig
from lerobot.datasets import EpisodeAwareSampler
from lerobot.datasets.factory import make_train_eval_datasets
from lerobot.policies.factory import get_policy_class, make_pre_post_processors


def main():
    step_dir = pathlib.Path(sys.argv[1])
    model_dir = str(step_dir / "pretrained_model")
    step = json.loads((step_dir / "training_state" / "training_step.json").read_text())["step"]

    config = TrainPipelineConfig.from_pretrained(model_dir)
    policy = get_policy_class(config.policy.type).from_pretrained(model_dir, strict=True)
    preprocessor, _ = make_pre_post_processors(config.policy, pretrained_path=model_dir)

    dataset, _ = make_train_eval_datasets(config)
    episodes = dataset.meta.episodes
    order = list(
        EpisodeAwareSampler(
            episodes["dataset_from_index"], episodes["dataset_to_index"], shuffle=True, seed=config.seed
        )
    )
    first = step * config.batch_size
    items = [dataset[index] for index in order[first : first + config.batch_size]]
    assert len(items) == config.batch_size, "the step lies in another epoch"
    batch = torch.utils.data.default_collate(items)
    for key in dataset.meta.camera_keys:
        if batch[key].dtype == torch.uint8:
            batch[key] = batch[key].to(torch.float32) / 255.0

    policy.train()
    loss, _ = policy.forward(preprocessor(batch))
    print(json.dumps({"step": step + 1, "loss": loss.item()}))


if __name__ == "__main__":
    main()
