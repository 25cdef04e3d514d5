"""Makes the images of this folder and expected.json. Needs Pillow, numpy and torchvision."""
import hashlib
import json
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps
from torchvision.transforms import ToTensor

HERE = Path(__file__).parent
HEIGHT, WIDTH = 13, 17
generator = np.random.default_rng(7)
y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
rgb = np.stack([x * 15, y * 19, (x * y) % 256], -1).astype(np.uint8)
noise = generator.integers(0, 256, (HEIGHT, WIDTH, 4), dtype=np.uint8)
depth = generator.integers(0, 65536, (HEIGHT, WIDTH), dtype=np.uint16)
metres = generator.random((HEIGHT, WIDTH), dtype=np.float32) * 10
expected = {}


def add(name, image, **options):
    path = HERE / name
    image.save(path, **options)
    read = ImageOps.exif_transpose(Image.open(path))
    if read.mode == "P":
        read = read.convert("RGB")
    if read.mode in ("I", "I;16", "I;16B", "F"):
        tensor = np.array(read).astype(np.float32)[None]
    else:
        tensor = ToTensor()(read).numpy()
    expected[name] = {"shape": list(tensor.shape), "sha256": hashlib.sha256(tensor.tobytes()).hexdigest()}


turned = Image.Exif()
turned[274] = 6
add("rgb.png", Image.fromarray(rgb))
add("rgba.png", Image.fromarray(noise))
add("grey.png", Image.fromarray(noise[..., 0]))
add("grey_alpha.png", Image.fromarray(noise[..., :2], "LA"))
add("palette.png", Image.fromarray(rgb).quantize(16))
add("one_bit.png", Image.fromarray(noise[..., 0] > 127))
add("depth16.png", Image.fromarray(depth))
add("turned.png", Image.fromarray(rgb), exif=turned)
add("subsampled.jpg", Image.fromarray(rgb), quality=90)
add("full_chroma.jpg", Image.fromarray(noise[..., :3]), quality=80, subsampling=0)
add("progressive.jpg", Image.fromarray(noise[..., :3]), quality=60, progressive=True)
add("grey.jpg", Image.fromarray(rgb[..., 2]), quality=85)
add("turned.jpg", Image.fromarray(rgb), quality=90, exif=turned)
add("depth16.tiff", Image.fromarray(depth))
add("depth_float.tiff", Image.fromarray(metres), compression="raw")
add("depth_deflated.tiff", Image.fromarray(metres), compression="tiff_adobe_deflate")
add("rgb.tiff", Image.fromarray(rgb))
(HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
