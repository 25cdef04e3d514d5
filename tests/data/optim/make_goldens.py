"""Makes the goldens of this folder with LeRobot 0.6.1, torch 2.11 and diffusers 0.39 on a CPU: python make_goldens.py

lr_schedules.json      LeRobot's schedulers: per case the config, N, the optimizer's lr, the groups' rates and, per scheduler
                       step from 0, each group's rate.
optimizers.safetensors shared init/<i> and grad/<t>/<i> (parameter 2 has none at steps 0 and 3), and per case of
                       optimizers.json the parameters after each step: <case>/<t>/<i>. Default (non-fused) torch.optim.
lerobot_state/         what LeRobot's own savers write for AdamW with two groups under a cosine schedule after 3 steps, and
                       continued.safetensors: the parameters then (before/<i>) and after two more steps (after/<i>).
"""
import json
import pathlib

import torch
from lerobot.optim import optimizers as lo
from lerobot.optim import schedulers as ls
from safetensors.torch import save_file

here = pathlib.Path(__file__).parent


def schedule_case(config, n, lr=1e-3, group_lrs=(1e-3, 1e-4), steps=50):
    groups = [{"params": [torch.nn.Parameter(torch.zeros(1))], "lr": g} for g in group_lrs]
    opt = torch.optim.AdamW(groups, lr=lr)
    sch = config.build(opt, n)
    rates = [[g["lr"] for g in opt.param_groups]]
    for _ in range(steps):
        opt.step()
        sch.step()
        rates.append([g["lr"] for g in opt.param_groups])
    fields = {k: v for k, v in vars(config).items()}
    return {"config": {"type": config.type, **fields}, "num_training_steps": n, "lr": lr, "group_lrs": list(group_lrs), "rates": rates}


D = ls.DiffuserSchedulerConfig
cases = []
for name in ["cosine", "linear", "cosine_with_restarts", "polynomial", "constant_with_warmup"]:
    for warmup, n in [(5, 40), (0, 30), (7, 7000)]:
        cases.append(schedule_case(D(name=name, num_warmup_steps=warmup), n))
cases.append(schedule_case(D(name="polynomial", num_warmup_steps=3), 20, lr=3e-4, group_lrs=(3e-4, 1e-5)))
cases.append(schedule_case(D(name="constant"), 20))
cases.append(schedule_case(ls.VQBeTSchedulerConfig(num_warmup_steps=4, num_vqvae_training_steps=6), 40))
cases.append(schedule_case(ls.ConstantWithWarmupSchedulerConfig(num_warmup_steps=9), 40))
cases.append(schedule_case(ls.ConstantWithWarmupSchedulerConfig(num_warmup_steps=0), 40, steps=3))
for warmup, n in [(6, 40), (0, 33), (60, 20)]:
    cases.append(schedule_case(ls.CosineAnnealingWithWarmupSchedulerConfig(num_warmup_steps=warmup), n))
for w, d, n in [(4, 20, 10), (4, 20, 100), (1000, 30000, 40), (0, 17, 50), (3, 50, 50)]:
    cases.append(schedule_case(ls.CosineDecayWithWarmupSchedulerConfig(w, d, 2.5e-5, 2.5e-6), n))
cases.append(schedule_case(ls.CosineDecayWithWarmupSchedulerConfig(2, 10, 1e-3, 1e-4), 10, steps=10, group_lrs=(1e-3,)))
lines = ",\n".join(json.dumps(c) for c in cases)
(here / "lr_schedules.json").write_text(f"[\n{lines}\n]\n")

torch.manual_seed(0)
shapes = [(3, 4), (5,), (2, 2, 3)]
steps = 6
init = [torch.randn(s) for s in shapes]
grads = [[None if i == 2 and t in (0, 3) else torch.randn(s) for i, s in enumerate(shapes)] for t in range(steps)]
tensors = {f"init/{i}": p for i, p in enumerate(init)}
tensors |= {f"grad/{t}/{i}": g for t, row in enumerate(grads) for i, g in enumerate(row) if g is not None}
optimizer_cases = {
    "adamw": lo.AdamWConfig(lr=0.01, weight_decay=0.1),
    "adam": lo.AdamConfig(lr=0.01, betas=(0.95, 0.99), eps=1e-6, weight_decay=0.1),
    "sgd": lo.SGDConfig(lr=0.1),
    "sgd_momentum": lo.SGDConfig(lr=0.1, momentum=0.9, weight_decay=0.01),
    "sgd_nesterov": lo.SGDConfig(lr=0.1, momentum=0.9, nesterov=True),
    "sgd_dampening": lo.SGDConfig(lr=0.1, momentum=0.8, dampening=0.3),
}


def groups_of(params):
    return [{"params": params[:2]}, {"params": params[2:], "lr": 0.003}]


described = {}
for name, config in optimizer_cases.items():
    params = [torch.nn.Parameter(p.clone()) for p in init]
    opt = config.build(groups_of(params))
    for t in range(steps):
        for p, g in zip(params, grads[t]):
            p.grad = None if g is None else g.clone()
        opt.step()
        tensors |= {f"{name}/{t}/{i}": p.detach().clone() for i, p in enumerate(params)}
    described[name] = {"type": config.type, **vars(config)}
save_file(tensors, here / "optimizers.safetensors")
(here / "optimizers.json").write_text(json.dumps(described, indent=1) + "\n")

out = here / "lerobot_state"
out.mkdir(exist_ok=True)
params = [torch.nn.Parameter(p.clone()) for p in init]
opt = lo.AdamWConfig(lr=0.01, weight_decay=0.1).build(groups_of(params))
sch = ls.CosineDecayWithWarmupSchedulerConfig(2, 10, 1e-3, 1e-4).build(opt, 10)


def advance(t):
    for p, g in zip(params, grads[t]):
        p.grad = None if g is None else g.clone()
    opt.step()
    sch.step()


for t in range(3):
    advance(t)
lo.save_optimizer_state(opt, out)
ls.save_scheduler_state(sch, out)
continued = {f"before/{i}": p.detach().clone() for i, p in enumerate(params)}
for t in (3, 4):
    advance(t)
continued |= {f"after/{i}": p.detach().clone() for i, p in enumerate(params)}
save_file(continued, out / "continued.safetensors")
