"""lerobot-train of a real LeRobot, with every step's figures kept in full precision.

Usage: record_losses.py FILE FLAGS...   appends {"step", "loss", "grad_norm", "lr"} a line to FILE.
"""

import json
import sys

from lerobot.scripts import lerobot_train


def main():
    path = sys.argv.pop(1)
    update_policy = lerobot_train.update_policy

    def recording_update(tracker, *args, **kwargs):
        result = update_policy(tracker, *args, **kwargs)
        figures = {name: getattr(tracker, name).val for name in ("loss", "grad_norm", "lr")}
        with open(path, "a") as file:
            file.write(json.dumps({"step": tracker.steps + 1, **figures}) + "\n")
        return result

    lerobot_train.update_policy = recording_update
    lerobot_train.main()


if __name__ == "__main__":
    main()
