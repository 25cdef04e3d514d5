"""Makes the files of this folder with LeRobot 0.6.1: what its normalizer computes and what its checkpoints hold."""
import sys
from pathlib import Path

import torch
from lerobot.configs import FeatureType, NormalizationMode, PolicyFeature
from lerobot.policies.act.configuration_act import ACTConfig
from lerobot.policies.diffusion.configuration_diffusion import DiffusionConfig
from lerobot.policies.factory import make_pre_post_processors
from lerobot.processor import NormalizerProcessorStep, UnnormalizerProcessorStep
from lerobot.processor.converters import create_transition
from safetensors.torch import save_file

HERE = Path(__file__).parent
torch.manual_seed(5)

FEATURES = {
    "observation.state": PolicyFeature(FeatureType.STATE, (6,)),
    "observation.environment_state": PolicyFeature(FeatureType.ENV, (3,)),
    "observation.images.front": PolicyFeature(FeatureType.VISUAL, (3, 4, 5)),
    "action": PolicyFeature(FeatureType.ACTION, (2,)),
}


def stats_of(shape):
    ordered = torch.sort(torch.randn(7, *shape), dim=0).values
    names = ["min", "q01", "q10", "q50", "q90", "q99", "max"]
    stats = dict(zip(names, ordered, strict=True))
    return stats | {"mean": torch.randn(shape), "std": torch.rand(shape) + 0.1, "count": torch.tensor([40.0])}


STATS = {
    "observation.state": stats_of((6,)),
    "observation.environment_state": stats_of((3,)),
    "observation.images.front": stats_of((3, 1, 1)),
    "action": stats_of((2,)),
    "timestamp": stats_of((1,)),
    "index": stats_of((1,)),
}
for low, high in [("min", "max"), ("q01", "q99"), ("q10", "q90")]:  # a joint that never moves
    STATS["observation.state"][high][2] = STATS["observation.state"][low][2]
STATS["observation.state"]["std"][2] = 0.0

BATCH = {
    "observation.state": torch.randn(4, 2, 6),
    "observation.environment_state": torch.randn(4, 3),
    "observation.images.front": torch.rand(4, 2, 3, 4, 5),
    "action": torch.randn(4, 7, 2),
}
BATCH["observation.state"][0, 0, 2] = STATS["observation.state"]["min"][2]

save_file({f"{k}.{s}": v.contiguous() for k, d in STATS.items() for s, v in d.items()}, HERE / "stats.safetensors")
save_file(BATCH, HERE / "inputs.safetensors")
for mode in ["MEAN_STD", "MIN_MAX", "QUANTILES", "QUANTILE10"]:
    norm_map = {kind: NormalizationMode[mode] for kind in [FeatureType.STATE, FeatureType.VISUAL, FeatureType.ACTION]}
    forward = NormalizerProcessorStep(FEATURES, norm_map, stats=STATS)
    inverse = UnnormalizerProcessorStep(FEATURES, norm_map, stats=STATS)
    batch = {key: value.clone() for key, value in BATCH.items()}
    transition = create_transition({k: v for k, v in batch.items() if k != "action"}, batch["action"])
    outputs = {}
    for way, step in [("normalized", forward), ("unnormalized", inverse)]:
        result = step(transition)
        tensors = {**result["observation"], "action": result["action"]}
        outputs |= {f"{way}.{key}": value.clone() for key, value in tensors.items()}
    save_file(outputs, HERE / f"{mode.lower()}.safetensors")

for name, kind in [("act", ACTConfig), ("diffusion", DiffusionConfig)]:
    inputs = {k: v for k, v in FEATURES.items() if k != "action"}
    config = kind(input_features=inputs, output_features={"action": FEATURES["action"]}, device="cpu")
    pre, post = make_pre_post_processors(config, dataset_stats=STATS)
    pre.save_pretrained(HERE / name)
    post.save_pretrained(HERE / name)
print("ok", file=sys.stderr)
