import ctypes
import os
import signal
import sys
import time

import gymnasium
import numpy
from gymnasium import spaces

made = 0  # state outside of the environments, as gym_aloha has


class Counter(gymnasium.Env):
    """Counts its steps and resets; an episode ends after `length` steps, with success. Its picture tells the count."""

    metadata = {"render_fps": 25}

    def __init__(self, length=5, height=6, width=8, task=None, start=0.0, render_mode=None):
        global made
        made += 1
        self.made = made
        self.length, self.height, self.width, self.render_mode, self.start = length, height, width, render_mode, start
        if task is not None:
            self.task = task
        self.observation_space = spaces.Dict(
            {
                "agent_pos": spaces.Box(-1e9, 1e9, (3,), numpy.float64),
                "pixels": spaces.Dict({"top": spaces.Box(0, 255, (height, width, 3), numpy.uint8)}),
            }
        )
        self.action_space = spaces.Box(-1, 1, (2,), numpy.float32)
        self.resets = 0
        self.calls = []

    def picture(self):
        numbers = numpy.arange(self.height * self.width * 3) * 7 + self.count
        return (numbers % 256).astype(numpy.uint8).reshape(self.height, self.width, 3)

    def observation(self):
        return {"agent_pos": self.position, "pixels": {"top": self.picture()}}

    def reset(self, seed=None, options=None):
        self.count = 0
        self.resets += 1
        if seed is not None:
            self.random = numpy.random.default_rng(seed)
        self.position = numpy.array([self.start, self.resets, 0.0 if seed is None else self.random.random()])
        return self.observation(), {"is_success": False, "seed": seed, "has_options": bool(options)}

    def step(self, action):
        assert action.dtype == numpy.float32 and action.shape == (2,)
        self.count += 1
        self.position = self.position + [action[0], 0, action[1]]
        terminated = numpy.bool_(self.count >= self.length)
        info = {
            "is_success": terminated,
            "count": self.count,
            "half": numpy.float32(self.count / 2),
            "action": action,
            "name": "counter",
            "pid": os.getpid(),
            "made": self.made,
            "left_out": object(),
        }
        return self.observation(), numpy.float32(0.1) * self.count, terminated, False, info

    def render(self):
        return None if self.render_mode is None else numpy.ascontiguousarray(self.picture()[::-1])


class Trouble(Counter):
    """Does what environments should not do: `where` is one of make, reset, step, render, close, `what` a method here."""

    def __init__(self, what, where):
        super().__init__(render_mode="rgb_array", length=100)
        self.what, self.where = what, where
        self.at("make")

    def at(self, place):
        if place == self.where:
            getattr(self, self.what)()

    def reset(self, **arguments):
        self.at("reset")
        return super().reset(**arguments)

    def step(self, action):
        self.at("step")
        answer = super().step(action)
        if self.what == "wrong_shape":
            answer[0]["agent_pos"] = numpy.zeros(4)
        elif self.what == "wrong_type":
            answer[0]["agent_pos"] = numpy.array(["a", "b", "c"])
        elif self.what == "missing_key":
            del answer[0]["pixels"]["top"]
        elif self.what == "old_answer":
            return answer[:4]
        return answer

    def render(self):
        self.at("render")
        return super().render()

    def close(self):
        self.at("close")

    def raises(self):
        raise ValueError("the gripper is stuck")

    def exits(self):
        sys.exit("enough")

    def crashes(self):
        print("about to crash")
        ctypes.string_at(0)

    def dies(self):
        print("last words", file=sys.stderr)
        os._exit(7)

    def hangs(self):
        while True:
            time.sleep(1000)

    def leaves_children(self):
        """The child holds every descriptor open, so the channel does not close when the worker is killed."""
        if os.fork() == 0:
            self.hangs()
        os.kill(os.getpid(), signal.SIGKILL)

    wrong_shape = wrong_type = missing_key = old_answer = lambda self: None


class Shapes(gymnasium.Env):
    """Every kind of space."""

    def __init__(self):
        self.observation_space = spaces.Dict(
            {
                "half": spaces.Box(0, 1, (2,), numpy.float16),
                "short": spaces.Box(0, 1, (2, 2), numpy.int16),
                "flag": spaces.Box(0, 1, (1,), numpy.bool_),
                "choice": spaces.Discrete(5),
                "buttons": spaces.MultiBinary(3),
                "switches": spaces.MultiDiscrete([3, 4]),
                "pair": spaces.Tuple([spaces.Box(0, 1, (1,), numpy.float32), spaces.Discrete(3)]),
                "words": spaces.Text(10),
            }
        )
        self.action_space = spaces.Box(-1, 1, (1,), numpy.float32)

    def reset(self, seed=None, options=None):
        return {
            "half": numpy.array([0.5, -2.25], numpy.float16),
            "short": numpy.array([[1, -2], [300, -32768]], numpy.int16),
            "flag": numpy.array([True]),
            "choice": 3,
            "buttons": numpy.array([1, 0, 1], numpy.int8),
            "switches": numpy.array([2, 3]),
            "pair": (numpy.array([0.1], numpy.float64), 2),
            "words": "no array",
        }, {}


class DiscreteActions(Counter):
    def __init__(self):
        super().__init__()
        self.action_space = spaces.Discrete(4)
