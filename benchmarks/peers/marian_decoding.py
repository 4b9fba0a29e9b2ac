"""MarianMTModel of Hugging Face transformers: `generate` with the network of `marian_transformer.py`."""

import torch
from common import PAD
from decoding import BEAM, LENGTH, Search, measure
from marian_transformer import build as build_model


def build(vocabulary: int) -> tuple[torch.nn.Module, Search]:
    """The peer's own model and search, with its cache."""
    model, _ = build_model(vocabulary)

    @torch.no_grad()
    def translate(source: torch.Tensor, lengths: torch.Tensor) -> int:
        found = model.generate(
            input_ids=source,
            attention_mask=(source != PAD).long(),
            num_beams=BEAM,
            min_new_tokens=LENGTH,
            max_new_tokens=LENGTH,
            do_sample=False,
        )
        return found.shape[1] - 1

    return model, translate


if __name__ == "__main__":
    measure(build)
