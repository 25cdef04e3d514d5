"""A stand-in for gymnasium in the tests of the bridge: as much of its interface as the worker and gym_tests use."""

import importlib

from . import error, spaces

__version__ = "0 (stand-in)"
registry = {}


class Env:
    metadata = {}
    spec = None

    def close(self):
        pass


class Wrapper(Env):
    def __init__(self, env):
        self.env = env

    metadata = property(lambda self: self.env.metadata)
    spec = property(lambda self: self.env.spec)
    observation_space = property(lambda self: self.env.observation_space)
    action_space = property(lambda self: self.env.action_space)

    def reset(self, **arguments):
        return self.env.reset(**arguments)

    def step(self, action):
        return self.env.step(action)

    def render(self):
        return self.env.render()

    def close(self):
        self.env.close()


class TimeLimit(Wrapper):
    def __init__(self, env, max_episode_steps):
        super().__init__(env)
        self._max_episode_steps = max_episode_steps

    def reset(self, **arguments):
        self.elapsed = 0
        return self.env.reset(**arguments)

    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.elapsed += 1
        return observation, reward, terminated, truncated or self.elapsed >= self._max_episode_steps, info


class EnvSpec:
    def __init__(self, id, entry_point, max_episode_steps):
        self.id, self.entry_point, self.max_episode_steps = id, entry_point, max_episode_steps


def register(id, entry_point, max_episode_steps=None):
    registry[id] = EnvSpec(id, entry_point, max_episode_steps)


def make(id, max_episode_steps=None, disable_env_checker=None, **kwargs):
    if id not in registry:
        raise error.NameNotFound(f"Environment `{id}` doesn't exist.")
    spec = registry[id]
    module, _, name = spec.entry_point.partition(":")
    env = getattr(importlib.import_module(module), name)(**kwargs)
    env.spec = spec
    limit = max_episode_steps or spec.max_episode_steps
    return TimeLimit(env, limit) if limit else env
