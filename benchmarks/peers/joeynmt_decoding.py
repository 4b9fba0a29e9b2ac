"""JoeyNMT 2.3: beam search with the network of `joeynmt_seq2seq.py`."""

import torch
from common import PAD
from decoding import BEAM, LENGTH, Search, measure
from joeynmt.batch import Batch
from joeynmt.search import search
from joeynmt_seq2seq import build as build_model
from joeynmt_seq2seq import swap


def build(vocabulary: int) -> tuple[torch.nn.Module, Search]:
    """The peer's own model and search."""
    model, _ = build_model(vocabulary)

    def translate(source: torch.Tensor, lengths: torch.Tensor) -> int:
        batch = Batch(
            src=swap(source),
            src_length=lengths,
            src_prompt_mask=None,
            trg=None,
            trg_prompt_mask=None,
            indices=torch.arange(len(source)),
            device=source.device,
            pad_index=swap(torch.tensor(PAD)).item(),
            eos_index=3,
            is_train=False,
        )
        mixed = torch.is_autocast_enabled("cpu")
        found, *_ = search(
            model=model,
            batch=batch,
            beam_size=BEAM,
            beam_alpha=1.0,
            min_output_length=LENGTH,
            max_output_length=LENGTH,
            autocast={"device_type": "cpu", "enabled": mixed, "dtype": torch.bfloat16},
        )
        return found.shape[1]

    return model, translate


if __name__ == "__main__":
    measure(build)
