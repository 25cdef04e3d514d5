"""Makes the clips of this folder and expected.json. Needs PyAV with libx264, libx265 and libsvtav1, and torchcodec."""
import hashlib
import json
from pathlib import Path

import av
import numpy as np
from torchcodec.decoders import VideoDecoder

HERE = Path(__file__).parent


def picture(index, height, width):
    """A moving gradient with the frame's number as six bright or dark squares, lowest bit left."""
    y, x = np.mgrid[0:height, 0:width]
    image = np.stack([(x * 3 + index * 5) % 256, (y * 3 + index * 2) % 256, (x + y + index * 9) % 256], -1)
    for bit in range(6):
        image[height // 4 : height // 2, bit * 10 + 2 : bit * 10 + 12] = 255 if index >> bit & 1 else 0
    return image.astype(np.uint8)


def clip(
    name, codec, frames=60, fps=30, g=2, pixel_format="yuv420p", height=64, width=64, bt709=False, layout=None, **options
):
    path = HERE / f"{name}.mp4"
    with av.open(str(path), "w", container_options=layout or {}) as container:
        stream = container.add_stream(codec, fps, options={"g": str(g), "crf": "30", **options})
        stream.width, stream.height, stream.pix_fmt = width, height, pixel_format
        if bt709:
            stream.codec_context.colorspace = 1
        for index in range(frames):
            frame = av.VideoFrame.from_ndarray(picture(index, height, width), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    pixels = VideoDecoder(str(path), seek_mode="exact")[0:frames].numpy()
    return [hashlib.sha256(frame.tobytes()).hexdigest() for frame in pixels]


quiet = {"x265-params": "log-level=none"}
svt = {"preset": "12", "svtav1-params": "fast-decode=0"}
expected = {
    "hevc_open_gop_g2": clip("hevc_open_gop_g2", "libx265", **quiet),
    "hevc_open_gop_g10": clip("hevc_open_gop_g10", "libx265", g=10, **quiet),
    "h264_g10": clip("h264_g10", "libx264", g=10, layout={"movflags": "faststart"}),
    "h264_open_gop_g10": clip("h264_open_gop_g10", "libx264", g=10, **{"x264-params": "open-gop=1:bframes=3"}),
    "h264_intra_refresh": clip("h264_intra_refresh", "libx264", g=10, **{"x264-params": "intra-refresh=1"}),
    "mpeg4_g12": clip("mpeg4_g12", "mpeg4", g=12, bf="2"),
    "av1_g2": clip("av1_g2", "libsvtav1", frames=20, **svt),
    "h264_bt709": clip("h264_bt709", "libx264", frames=4, bt709=True),
    "h264_full_range": clip("h264_full_range", "libx264", frames=4, pixel_format="yuvj420p"),
    "h264_444": clip("h264_444", "libx264", frames=4, pixel_format="yuv444p"),
    "h264_84x84": clip("h264_84x84", "libx264", frames=4, height=84, width=84),
    "h264_98x50": clip("h264_98x50", "libx264", frames=4, height=50, width=98),
}
(HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
