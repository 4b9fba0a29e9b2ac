"""CTranslate2 with the network of `marian_transformer.py`: its own search, sorting and workers.

It is started like the drivers of `decoding.py`, whose `processes` are its workers here; `compute_type` is the
precision of its products.
"""

import json
import sys
import tempfile
from pathlib import Path

import torch
from common import peak_memory
from ctranslate2 import Translator
from ctranslate2.converters import transformers
from decoding import BEAM, LENGTH, print_median, rates
from marian_transformer import build


def save(folder: Path, vocabulary: int) -> list[str]:
    """Converts the network with new weights, and returns its tokens; the loader drops the last one."""
    torch.manual_seed(1)
    model, _ = build(vocabulary)
    spec = transformers.MarianMTLoader().get_model_spec(model.eval())
    tokens = ["<pad>", "<unk>", "<s>", "</s>", *map(str, range(4, vocabulary - 1))]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.decoder_start_token = "<s>"
    spec.config.add_source_eos = False  # the sentences end with it
    spec.validate()
    spec.optimize(quantization=None)
    spec.save(str(folder))
    return tokens


def main() -> None:
    """Times the translation of all sentences, again and again, and prints the median sentences per second."""
    content, options = json.loads(Path(sys.argv[1]).read_text()), json.loads(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        tokens = save(Path(folder), content["vocabulary"])
        translator = Translator(
            folder,
            device="cpu",
            compute_type=options["compute_type"],
            inter_threads=options["processes"],
            intra_threads=options["threads"],
        )
    sentences = [[tokens[min(one, len(tokens) - 1)] for one in ids] for ids in content["sentences"]]

    def translate(part: list[list[str]]) -> None:
        found = translator.translate_batch(
            part,
            beam_size=BEAM,
            min_decoding_length=LENGTH,
            max_decoding_length=LENGTH,
            max_batch_size=options["batch_size"],
        )
        assert all(len(one.hypotheses[0]) == LENGTH for one in found)

    measured = rates(translate, sentences, len, options["seconds"])
    print_median(measured, {"peak_memory_mib": peak_memory()})


if __name__ == "__main__":
    main()
