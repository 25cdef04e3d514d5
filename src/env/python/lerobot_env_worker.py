"""Runs gymnasium environments for lerobot-cpp: reads a request, does it, answers; until the channel closes.

File descriptor 3 is the channel: messages of 4 bytes, the length (little-endian), and as many bytes of JSON. File
descriptor 4 is memory that the program sees too: observations and pictures lie there, the answers say where.
"""

import faulthandler
import importlib
import json
import mmap
import os
import signal
import socket
import struct
import sys
import traceback

CHANNEL, MEMORY = 3, 4
ALIGNMENT = 64  # bytes, of every array
MAX_INFO_NUMBERS = 256  # in one value of an info


def end_with_the_program():
    """Has the kernel kill this process when the program is gone, even where an environment never returns."""
    try:
        import ctypes

        PR_SET_PDEATHSIG = 1
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    except (ImportError, OSError, AttributeError):
        pass  # not Linux: the closed channel ends it, once the environment returns


class Unfit(Exception):
    """An environment is not as gymnasium says, or not as a LeRobot policy needs it; the message says how."""


class Channel:
    def __init__(self, descriptor):
        os.set_inheritable(descriptor, False)
        self.socket = socket.socket(fileno=descriptor)

    def read(self, size):
        data = bytearray()
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                os._exit(0)  # the program is gone
            data += part
        return bytes(data)

    def receive(self):
        (size,) = struct.unpack("<I", self.read(4))
        return json.loads(self.read(size))

    def send(self, message):
        data = json.dumps(message).encode()
        self.socket.sendall(struct.pack("<I", len(data)) + data)


class Memory:
    """Grows piece by piece; a piece stays where it is."""

    def __init__(self, descriptor):
        os.set_inheritable(descriptor, False)
        self.descriptor = descriptor
        self.size = 0

    def take(self, size):
        """Offset of a new piece, and the piece."""
        offset = self.size
        self.size += -(-max(size, 1) // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        os.ftruncate(self.descriptor, self.size)
        return offset, mmap.mmap(self.descriptor, self.size - offset, offset=offset)


class Leaf:
    """An array of an observation: where it lies in the nested spaces, and how it is handed over."""

    def __init__(self, keys, space):
        self.keys = keys
        self.path = "/".join(str(key) for key in keys)
        self.shape = tuple(space.shape)
        self.dtype = numpy.dtype(space.dtype)
        self.sent_as = sent_as(self.dtype)
        self.offset = 0
        self.target = None

    def nbytes(self):
        return numpy.prod(self.shape, dtype=int).item() * self.sent_as.itemsize

    def pick(self, observation):
        for depth, key in enumerate(self.keys):
            try:
                observation = observation[key]
            except (KeyError, IndexError, TypeError):
                path = "/".join(str(key) for key in self.keys[: depth + 1])
                raise Unfit(f"the observation has no '{path}', the observation space has") from None
        return observation

    def put(self, observation):
        name = f"observation '{self.path}'" if self.keys else "the observation"
        value = numpy.asarray(self.pick(observation))
        if value.shape != self.shape:
            raise Unfit(f"{name} has shape {value.shape}, its space says {self.shape}")
        if not numpy.can_cast(value.dtype, self.dtype, "same_kind"):
            raise Unfit(f"{name} is of {value.dtype}, its space says {self.dtype}")
        self.target[...] = value.astype(self.dtype, copy=False)


def sent_as(dtype):
    """The element type, of the four that the program knows, that holds every value of `dtype`; None: there is none."""
    if dtype in (numpy.uint8, numpy.float32, numpy.float64):
        return dtype
    if dtype == numpy.float16:
        return numpy.dtype(numpy.float32)
    if numpy.can_cast(dtype, numpy.int64):
        return numpy.dtype(numpy.int64)
    return None


def leaves_of(space, keys=()):
    """The arrays of a space, depth first; (path, space) of what is not an array goes to the second list."""
    spaces = gymnasium.spaces
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        children = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        arrays, others = [], []
        for key, child in children:
            more_arrays, more_others = leaves_of(child, (*keys, key))
            arrays += more_arrays
            others += more_others
        return arrays, others
    if isinstance(space, (spaces.Box, spaces.Discrete, spaces.MultiBinary, spaces.MultiDiscrete)):
        leaf = Leaf(keys, space)
        if leaf.sent_as is not None:
            return [leaf], []
    return [], [("/".join(str(key) for key in keys), str(space))]


def attribute(env, name):
    """(found, value) of an attribute of the environment or the outermost wrapper that has it."""
    while True:
        try:
            return True, getattr(env, name)
        except Exception:  # older wrappers refuse private names in their own ways
            if not isinstance(env, gymnasium.Wrapper):
                return False, None
            env = env.env


def set_attribute(env, name, value):
    """Where the attribute is; one that is nowhere becomes the environment's."""
    level = env
    while isinstance(level, gymnasium.Wrapper) and name not in vars(level):
        level = level.env
    setattr(level, name, value)


def plain(value):
    """`value` as JSON that the program reads, or None: a scalar, text, or a list of few numbers."""
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else None
    if isinstance(value, float):
        return value
    if isinstance(value, (list, tuple)) and not all(isinstance(item, (int, float, numpy.number)) for item in value):
        return None
    if isinstance(value, (numpy.ndarray, numpy.generic, list, tuple)):
        array = numpy.asarray(value)
        if array.dtype.kind not in "biuf" or array.ndim > 1 or array.size > MAX_INFO_NUMBERS:
            return None
        return plain(array.item()) if array.ndim == 0 else array.astype(float).tolist()
    return None


def truth(value):
    """is_success in words that gymnasium environments use: a bool, numpy's, a number, an array of one; None: not said."""
    if value is None:
        return None
    if isinstance(value, numpy.ndarray):
        return bool(value.all()) if value.size == 1 else None
    return bool(value)


class Environment:
    def __init__(self, request, memory):
        self.env = make(request)
        self.memory = memory
        self.told = set()
        self.frame = (0, None)
        action = self.env.action_space
        if not (isinstance(action, gymnasium.spaces.Box) and len(action.shape) == 1 and action.dtype.kind == "f"):
            raise Unfit(f"a policy's action is a row of float32 numbers, the action space is {action}")
        self.leaves, self.others = leaves_of(self.env.observation_space)
        if len({leaf.path for leaf in self.leaves}) < len(self.leaves):
            raise Unfit(f"two observations have the same path: {[leaf.path for leaf in self.leaves]}")
        self.place_observations()

    def place_observations(self):
        size = 0
        for leaf in self.leaves:
            leaf.offset = size
            size += -(-leaf.nbytes() // ALIGNMENT) * ALIGNMENT
        start, piece = self.memory.take(size)
        for leaf in self.leaves:
            leaf.target = numpy.ndarray(leaf.shape, leaf.sent_as, buffer=piece, offset=leaf.offset)
            leaf.offset += start

    def description(self):
        for path, space in self.others:
            print(f"observation '{path}' is left out: {space} is no array", file=sys.stderr)
        _, max_episode_steps = attribute(self.env, "_max_episode_steps")
        spec = getattr(self.env, "spec", None)
        return {
            "id": getattr(spec, "id", None),
            "python": sys.version.split()[0],
            "gymnasium": getattr(gymnasium, "__version__", "unknown"),
            "action_dim": self.env.action_space.shape[0],
            "render_fps": float((getattr(self.env, "metadata", None) or {}).get("render_fps") or 0),
            "max_episode_steps": max_episode_steps or getattr(spec, "max_episode_steps", None),
            "task": self.task(),
            "observations": [
                {"path": leaf.path, "shape": leaf.shape, "type": leaf.sent_as.name, "offset": leaf.offset}
                for leaf in self.leaves
            ],
        }

    def task(self):
        for name in ("task_description", "task"):
            found, value = attribute(self.env, name)
            if found and isinstance(value, str):
                return value
        return ""

    def info(self, info):
        values = {}
        for name, value in dict(info).items():
            if name == "is_success":
                continue
            value = plain(value)
            if value is not None:
                values[str(name)] = value
            elif name not in self.told:
                self.told.add(name)
                print(f"info '{name}' is left out: it is neither a scalar nor a short list of numbers", file=sys.stderr)
        return {"is_success": truth(info.get("is_success")), "info": values}

    def reset(self, request):
        arguments = {name: request[name] for name in ("seed", "options") if request[name] is not None}
        answer = self.env.reset(**arguments)
        if not (isinstance(answer, tuple) and len(answer) == 2):
            raise Unfit("reset() must return (observation, info), as gymnasium's environments do")
        observation, info = answer
        for leaf in self.leaves:
            leaf.put(observation)
        return {**self.info(info), "task": self.task()}

    def step(self, request):
        answer = self.env.step(numpy.array(request["action"], dtype=numpy.float32))
        if not (isinstance(answer, tuple) and len(answer) == 5):
            raise Unfit(
                "step() must return (observation, reward, terminated, truncated, info), as gymnasium's environments do"
            )
        observation, reward, terminated, truncated, info = answer
        for leaf in self.leaves:
            leaf.put(observation)
        outcome = {"reward": float(reward), "terminated": bool(terminated), "truncated": bool(truncated)}
        return {**outcome, **self.info(info)}

    def render(self, request):
        picture = self.env.render()
        if isinstance(picture, list) and picture:  # render_mode rgb_array_list: all since the last call
            picture = picture[-1]
        if picture is None:
            raise Unfit("render() gave no picture; the environment needs render_mode=rgb_array among its kwargs")
        picture = numpy.asarray(picture)
        if picture.dtype != numpy.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
            raise Unfit(f"render() must give uint8 (height, width, 3), it gave {picture.dtype} {picture.shape}")
        offset, piece = self.frame
        if piece is None or len(piece) < picture.size:
            self.frame = offset, piece = self.memory.take(picture.size)
        numpy.ndarray(picture.shape, picture.dtype, buffer=piece)[...] = picture
        return {"height": picture.shape[0], "width": picture.shape[1], "offset": offset}

    def get(self, request):
        found, value = attribute(self.env, request["name"])
        return {"has": found, "value": plain(value)}

    def set(self, request):
        set_attribute(self.env, request["name"], request["value"])
        return {}


def make(request):
    gym_id = request["gym_id"]
    for module in request["imports"]:
        importlib.import_module(module)
    if not request["imports"] and "/" in gym_id and ":" not in gym_id and gym_id not in gymnasium.registry:
        importlib.import_module(gym_id.partition("/")[0])
    arguments = dict(request["kwargs"])
    if request["max_episode_steps"] is not None:
        arguments["max_episode_steps"] = request["max_episode_steps"]
    return gymnasium.make(gym_id, disable_env_checker=request["disable_env_checker"], **arguments)


class Worker:
    def __init__(self):
        self.memory = Memory(MEMORY)
        self.environments = {}

    def make(self, request):
        global gymnasium, numpy
        sys.path[:0] = [path for path in request["sys_path"] if path not in sys.path]
        numpy = importlib.import_module("numpy")
        gymnasium = importlib.import_module("gymnasium")
        environment = Environment(request, self.memory)
        self.environments[request["env"]] = environment
        return environment.description()

    def close(self):
        for environment in self.environments.values():
            try:
                environment.env.close()
            except Exception:
                traceback.print_exc()

    def answer(self, request):
        """What was asked for, or the error; an environment's error leaves the others as they were."""
        try:
            if request["op"] == "make":
                return self.make(request)
            return getattr(self.environments[request["env"]], request["op"])(request)
        except Unfit as error:
            return {"error": None, "message": str(error), "missing": None, "traceback": None}
        except (Exception, SystemExit) as error:
            missing = error.name if isinstance(error, ModuleNotFoundError) else None
            says_all = type(error).__module__ == "gymnasium.error"  # there is no such environment, and what there is
            return {
                "error": type(error).__name__,
                "message": str(error),
                "missing": missing,
                "traceback": None if says_all else traceback.format_exc(),
            }


def main():
    end_with_the_program()
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1)  # the program asks where an environment hangs
    sys.path[:] = [path for path in sys.path if path]  # not the working folder, as for any installed program
    sys.argv = ["lerobot_env_worker.py"]
    channel = Channel(CHANNEL)
    worker = Worker()
    while True:
        request = channel.receive()
        if request["op"] == "close":
            worker.close()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)  # what libraries do at the end of an interpreter takes long and can fail
        channel.send(worker.answer(request))


main()
