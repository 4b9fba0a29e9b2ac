"""The zoo's own side of `caption_decoding.py`: beam search over given annotations.

python zoo_caption_decoding.py PLACES FEATURES SECONDS PRECISION IMAGES BATCH
"""

import sys
import time

import torch
from captions import WORDS, grid
from common import print_median
from zoo_captions import build

from zoo.decoding import Beam

images, size = int(sys.argv[5]), int(sys.argv[6])
torch.set_num_threads(2)
torch.manual_seed(1)
places = grid()
network, _ = build(places)
network.eval()
annotations = torch.rand(images, places.features, places.side, places.side)
beam = Beam(beam_size=5, length_penalty=1.0)


@torch.no_grad()
def write() -> float:
    """Writes all captions, a batch at a time; captions per second."""
    start = time.perf_counter()
    for batch in annotations.split(size):
        with torch.autocast("cpu", torch.bfloat16, enabled=sys.argv[4] == "bf16"):
            memory = network.encode(batch)  # type: ignore[operator]
            found = beam(
                network.step,  # type: ignore[arg-type]
                network.init_state(memory),  # type: ignore[operator]
                memory,
                bos=2,
                eos=3,
                forbidden=(0, 1, 2, 3),
                maximum_length=torch.full((len(batch),), WORDS),
            )
        assert all(len(hypotheses[0].ids) == WORDS for hypotheses in found)
    return images / (time.perf_counter() - start)


print_median("captions_per_second", write, float(sys.argv[3]), network)
