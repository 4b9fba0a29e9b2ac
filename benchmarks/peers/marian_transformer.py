"""MarianMTModel of Hugging Face transformers, with its fused attention."""

import sys

import torch
from common import PAD, measure, transformer_sizes
from torch import Tensor
from torch.nn import functional
from transformers import MarianConfig, MarianMTModel


def build(vocabulary: int) -> tuple[torch.nn.Module, object]:
    """The peer's own model; torch's cross-entropy."""
    sizes = transformer_sizes()
    shared = {
        "layers": sizes.layers,
        "attention_heads": 4,
        "ffn_dim": sizes.feed_forward_size,
    }
    model = MarianMTModel(
        MarianConfig(
            vocab_size=vocabulary,
            d_model=sizes.model_size,
            **{f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in shared.items()},
            dropout=0.1,
            attention_dropout=0.1,
            activation_dropout=0.0,
            activation_function="relu",
            max_position_embeddings=128,
            pad_token_id=PAD,
            bos_token_id=2,
            eos_token_id=3,
            decoder_start_token_id=2,
            forced_eos_token_id=None,
            scale_embedding=True,
            share_encoder_decoder_embeddings=True,
            tie_word_embeddings=True,
            attn_implementation="sdpa",
        )
    )

    def loss(source: Tensor, source_lengths: Tensor, target: Tensor, lengths: Tensor) -> Tensor:
        logits = model(
            input_ids=source,
            attention_mask=(source != PAD).long(),
            decoder_input_ids=target[:, :-1],
            use_cache=False,
        ).logits
        return functional.cross_entropy(
            logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD, label_smoothing=0.1
        )

    return model, loss


if __name__ == "__main__":
    measure(build, mixed=sys.argv[4] == "bf16")
