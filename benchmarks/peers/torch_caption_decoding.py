"""Beam search as it is mostly written: one image at a time, its annotations projected again at every step.

python torch_caption_decoding.py PLACES FEATURES SECONDS PRECISION IMAGES
"""

import sys
import time

import torch
from captions import VOCABULARY, WORDS, grid
from common import BOS, EOS, print_median
from torch import Tensor
from torch_captions import Decoder

BEAM = 5

images = int(sys.argv[5])
torch.set_num_threads(2)
torch.manual_seed(1)
places = grid()
decoder = Decoder(places.features).eval()
annotations = torch.rand(images, places.features, places.side, places.side)


def search(one: Tensor) -> list[int]:
    """The best caption of annotations `(1, D, h, w)`, all of `WORDS` words."""
    places = one.flatten(2).mT.expand(BEAM, -1, -1)
    mean = places.mean(1)
    hidden, cell = decoder.first_hidden(mean), decoder.first_cell(mean)
    words, total = torch.full((BEAM, 1), BOS), torch.zeros(BEAM, 1)
    for step in range(WORDS):
        energy = decoder.score((decoder.of_places(places) + decoder.of_state(hidden)[:, None]).relu())
        context = (places * energy.softmax(1)).sum(1)
        context = decoder.gate(hidden).sigmoid() * context
        hidden, cell = decoder.cell(torch.cat([decoder.embedding(words[:, -1]), context], -1), (hidden, cell))
        scores = decoder.output(hidden).float().log_softmax(-1)
        scores[:, : EOS + 1] = float("-inf")  # captions are as long as those of the other side
        total = scores + total
        best, where = (total[0] if step == 0 else total.flatten()).topk(BEAM)
        row = where // VOCABULARY
        words = torch.cat([words[row], (where % VOCABULARY)[:, None]], 1)
        hidden, cell, total = hidden[row], cell[row], best[:, None]
    return words[total.argmax()].tolist()


@torch.no_grad()
def write() -> float:
    """Writes all captions; captions per second."""
    start = time.perf_counter()
    for one in annotations.split(1):
        with torch.autocast("cpu", torch.bfloat16, enabled=sys.argv[4] == "bf16"):
            assert len(search(one)) == 1 + WORDS
    return images / (time.perf_counter() - start)


print_median("captions_per_second", write, float(sys.argv[3]), decoder)
