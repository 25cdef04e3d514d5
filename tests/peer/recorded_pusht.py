"""gym_pusht whose episodes leave the actions they were given in $RECORDED_ACTIONS/<seed>.jsonl, one a line.

Import it beside gym_pusht in any process that runs the environment; `recorded_pusht.py FLAGS...` is lerobot-eval of a
real LeRobot with it. What follows an episode's end (a reset without a seed) is not recorded. $ACTION_OFFSET, in pixels,
is added to every action, for a comparison that must then fail.
"""

import json
import os
import pathlib

from gym_pusht.envs.pusht import PushTEnv

FOLDER = pathlib.Path(os.environ["RECORDED_ACTIONS"])
OFFSET = float(os.environ.get("ACTION_OFFSET", "0"))


def record_actions():
    reset, step = PushTEnv.reset, PushTEnv.step

    def recording_reset(self, seed=None, options=None):
        self.record = None if seed is None else FOLDER / f"{seed}.jsonl"
        return reset(self, seed=seed, options=options)

    def recording_step(self, action):
        if self.record is not None:
            with self.record.open("a") as file:
                file.write(json.dumps([float(number) for number in action]) + "\n")
        return step(self, action + OFFSET)

    PushTEnv.reset, PushTEnv.step = recording_reset, recording_step


record_actions()

if __name__ == "__main__":
    from lerobot.scripts import lerobot_eval

    lerobot_eval.main()
