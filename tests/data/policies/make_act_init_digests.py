"""Digests of the initial weights that LeRobot draws for ACT after torch.manual_seed(1000), and small torch.save files.

Run with a Python that has lerobot 0.6.1:  python make_act_init_digests.py
Writes act_init_digests.json and pickle/*.pth beside this file. Per tensor: shape, sum and sum of absolute values in
float64, the first four values, and two checksums of the float32 bit patterns modulo 2^64: their sum and their sum
weighted with the index (from 1). `next` is the next number from the generator after construction.
`losses` are those of two forward passes in training mode, dropout included, on the batch of draw_batch(), after
torch.manual_seed(7): they hold only where the same random numbers fall on the same elements. LibTorch's CPU draws
Bernoulli numbers in two ways, by the processor's vendor; `bernoulli` shows which one the losses were made with.
"""
import json
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import torch
from lerobot.configs import FeatureType as T, PolicyFeature as F
from lerobot.policies.act.configuration_act import ACTConfig
from lerobot.policies.act.modeling_act import ACTPolicy

HERE = Path(__file__).resolve().parent
SMALL = dict(chunk_size=10, n_action_steps=10, dim_model=64, n_heads=4, dim_feedforward=96, n_encoder_layers=2,
             n_vae_encoder_layers=2, latent_dim=8, pretrained_backbone_weights=None, device="cpu", push_to_hub=False,
             output_features={"action": F(T.ACTION, (4,))})
CAMERA = {"observation.images.top": F(T.VISUAL, (3, 96, 96))}
STATE = {"observation.state": F(T.STATE, (3,))}
ENV = {"observation.environment_state": F(T.ENV, (5,))}
CASES = {
    "camera_state_vae": dict(input_features=CAMERA | STATE),
    "env_prenorm": dict(input_features=ENV, use_vae=False, pre_norm=True, n_decoder_layers=2),
    "camera_resnet34": dict(input_features=CAMERA | STATE | ENV, vision_backbone="resnet34", pre_norm=True),
    "camera_resnet50_dilated": dict(input_features=CAMERA, vision_backbone="resnet50",
                                    replace_final_stride_with_dilation=True),
}


def digest(t):
    t = t.detach().contiguous()
    bits = t.numpy().reshape(-1).view(np.uint32).astype(np.uint64)
    with np.errstate(over="ignore"):
        weighted = (bits * np.arange(1, bits.size + 1, dtype=np.uint64)).sum()
    d = t.double().flatten()
    return {"shape": list(t.shape), "sum": d.sum().item(), "abs_sum": d.abs().sum().item(), "first": d[:4].tolist(),
            "bits": str(bits.sum()), "weighted_bits": str(weighted)}


def draw_batch(config):
    torch.manual_seed(11)
    batch = {"observation.state": torch.randn(3, 3), "observation.environment_state": torch.randn(3, 5)}
    for key in config.image_features:
        batch[key] = torch.rand(3, 3, 96, 96)
    batch["action"] = torch.randn(3, 10, 4)
    batch["action_is_pad"] = torch.zeros(3, 10, dtype=torch.bool)
    batch["action_is_pad"][2, 7:] = True
    return batch


def bernoulli_probe():
    torch.manual_seed(7)
    return torch.empty(64).bernoulli_(0.5).int().tolist()


def training_losses(policy):
    batch = draw_batch(policy.config)
    torch.manual_seed(7)
    policy.train()
    return [policy.forward(batch)[0].item() for _ in range(2)]


def main():
    out = {}
    for name, options in CASES.items():
        config = ACTConfig(**(SMALL | options))
        torch.manual_seed(1000)
        policy = ACTPolicy(config)
        following = torch.rand(1).item()
        fields = {k: v for k, v in (SMALL | options).items()
                  if k not in ("input_features", "output_features", "push_to_hub")}
        for key in ("input_features", "output_features"):
            fields[key] = {k: {"type": f.type.value, "shape": list(f.shape)} for k, f in getattr(config, key).items()}
        out[name] = {"config": fields, "next": following, "losses": training_losses(policy),
                     "bernoulli": bernoulli_probe(),
                     "order": [k for k, _ in policy.named_parameters()],
                     "tensors": {k: digest(v) for k, v in policy.state_dict().items()}}
    lines = []
    for name, case in out.items():
        tensors = ",\n".join(f"   {json.dumps(k)}: {json.dumps(v)}" for k, v in case.pop("tensors").items())
        head = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in case.items())
        lines.append(f" {json.dumps(name)}: {{\n{head},\n  \"tensors\": {{\n{tensors}\n  }}\n }}")
    (HERE / "act_init_digests.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")

    pickles = HERE / "pickle"
    pickles.mkdir(exist_ok=True)
    g = torch.Generator().manual_seed(3)
    base = torch.arange(24, dtype=torch.float32)
    weights = OrderedDict()
    weights["conv1.weight"] = torch.nn.Parameter(torch.randn(2, 3, generator=g))
    weights["bn1.running_mean"] = torch.tensor([0.5, -1.5])
    weights["bn1.num_batches_tracked"] = torch.tensor(7)
    weights["shared.transposed"] = base.view(4, 6)[1:, ::2].t()  # a strided view of a storage that another tensor uses
    weights["shared.whole"] = torch.nn.Parameter(base)
    weights["empty"] = torch.zeros(0, 4)
    torch.save(weights, pickles / "parameters.pth")
    torch.save(dict(weights), pickles / "plain_dict.pth")
    torch.save(weights, pickles / "legacy.pth", _use_new_zipfile_serialization=False)
    linear = torch.nn.Linear(2, 1)
    torch.nn.init.constant_(linear.weight, 2.0)
    torch.nn.init.constant_(linear.bias, -1.0)
    torch.save(linear.state_dict(), pickles / "module_with_metadata.pth")
    torch.save(OrderedDict(a=Path("/etc/passwd")), pickles / "other_global.pth")
    torch.save(OrderedDict(a=torch.zeros(2, dtype=torch.float64)), pickles / "double.pth")
    # A storage that is shorter than the tensor says.
    with zipfile.ZipFile(pickles / "parameters.pth") as source, zipfile.ZipFile(pickles / "short_storage.pth", "w") as to:
        for item in source.infolist():
            data = source.read(item)
            to.writestr(item.filename, data[:-4] if item.filename.endswith("/data/0") else data)


if __name__ == "__main__":
    main()
