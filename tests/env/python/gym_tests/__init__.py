"""Environments for the tests of the bridge."""

from gymnasium import register

print("gym_tests says hello on stdout")  # as pygame does; this must not reach the channel

register(id="gym_tests/Counter-v0", entry_point="gym_tests.envs:Counter", max_episode_steps=300)
register(id="gym_tests/Trouble-v0", entry_point="gym_tests.envs:Trouble")
register(id="gym_tests/Shapes-v0", entry_point="gym_tests.envs:Shapes")
register(id="gym_tests/NeedsMore-v0", entry_point="gym_tests.needs_more:NeedsMore")
register(id="gym_tests/Discrete-v0", entry_point="gym_tests.envs:DiscreteActions")
