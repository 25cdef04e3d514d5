"""Compares the videos of two folders, file by file: stdout is a line of JSON for each.

Usage: compare_videos.py OURS THEIRS   needs PyAV and numpy (a LeRobot has both).
{"name", "ours": [codec, pixel format, width, height, frames a second, frames], "theirs": ..., "difference": mean
absolute difference of the pixels in levels of 255, of the frames that both have}
"""

import json
import pathlib
import sys

import av
import numpy


def read_video(path):
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)]
        context = stream.codec_context
        about = [context.name, context.pix_fmt, context.width, context.height, float(stream.average_rate), len(frames)]
    return about, frames


def main():
    ours, theirs = map(pathlib.Path, sys.argv[1:])
    for name in sorted({path.name for folder in (ours, theirs) for path in folder.glob("*.mp4")}):
        our_about, our_frames = read_video(ours / name)
        their_about, their_frames = read_video(theirs / name)
        pairs = zip(our_frames, their_frames)
        differences = [numpy.abs(a.astype(float) - b).mean() for a, b in pairs if a.shape == b.shape]
        difference = float(numpy.mean(differences)) if differences else None
        print(json.dumps({"name": name, "ours": our_about, "theirs": their_about, "difference": difference}))


if __name__ == "__main__":
    main()
