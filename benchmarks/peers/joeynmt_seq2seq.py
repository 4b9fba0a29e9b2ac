"""JoeyNMT 2.3: bidirectional LSTM 256 per direction, LSTM 512, Bahdanau's score, input feeding."""

import logging
from types import SimpleNamespace

import torch
from common import PAD, measure
from joeynmt.model import build_model
from joeynmt.vocabulary import Vocabulary

logging.disable(logging.CRITICAL)


def swap(ids: torch.Tensor) -> torch.Tensor:
    """This peer pads with 1 and calls 0 unknown."""
    return torch.where(ids < 2, 1 - ids, ids)


def build(vocabulary: int) -> tuple[torch.nn.Module, object]:
    """The peer's own model and loss."""
    settings = SimpleNamespace(
        **{f"{name}_token": f"<{name}>" for name in ("unk", "pad", "bos", "eos")},
        **{"unk_id": 0, "pad_id": 1, "bos_id": 2, "eos_id": 3},
        **{"sep_token": None, "sep_id": None, "lang_tags": []},
    )
    known = Vocabulary([f"word{number}" for number in range(vocabulary - 4)], settings)
    embeddings = {"embedding_dim": 256, "scale": False, "dropout": 0.2}
    shared = {"type": "recurrent", "rnn_type": "lstm", "dropout": 0.2, "num_layers": 1}
    model = build_model(
        {
            "initializer": "xavier_uniform",
            "bias_initializer": "zeros",
            "embed_initializer": "normal",
            "embed_init_weight": 0.1,
            "tied_embeddings": True,
            "tied_softmax": False,
            "encoder": {**shared, "embeddings": dict(embeddings), "hidden_size": 256, "bidirectional": True},
            "decoder": {
                **shared,
                "embeddings": dict(embeddings),
                "hidden_size": 512,
                "hidden_dropout": 0.2,
                "input_feeding": True,
                "init_hidden": "bridge",
                "attention": "bahdanau",
            },
        },
        src_vocab=known,
        trg_vocab=known,
    )
    model.loss_function = ("crossentropy", 0.1)

    def loss(
        source: torch.Tensor, source_lengths: torch.Tensor, target: torch.Tensor, lengths: torch.Tensor
    ) -> torch.Tensor:
        order = source_lengths.argsort(descending=True)  # its packing wants sorted rows
        source, source_lengths, target = source[order], source_lengths[order], target[order]
        total = model(
            return_type="loss",
            src=swap(source),
            src_length=source_lengths,
            src_mask=(source != PAD)[:, None],
            trg_input=swap(target[:, :-1]),
            trg=swap(target[:, 1:]),
            trg_mask=(target[:, :-1] != PAD)[:, None],
            trg_length=lengths[order],
        )[0]
        return total / (lengths - 1).sum()

    return model, loss


if __name__ == "__main__":
    measure(build)
