"""What a sentence is translated into does not depend on the batch: sizes 1, 7 and 64, in float32."""

from functools import partial

import pytest
import torch

from zoo.attention import Additive, General, Soft
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec, TextSpec
from zoo.decoding import Beam, Hypothesis
from zoo.networks.recurrent import GRU, LSTM
from zoo.networks.seq2seq import BahdanauDecoder, LuongDecoder, Seq2Seq

TEXT = TextSpec(tokenizer="", size=300, maximum_length=20)
SPEC = DataSpec("toy", {"source": TEXT, "target": TEXT})
BAHDANAU = partial(BahdanauDecoder, attention={"score": Additive, "selection": Soft})
LUONG = partial(LuongDecoder, attention={"score": General, "selection": Soft}, input_feeding=True)


def translate(network: Seq2Seq, rows: list[list[int]], size: int) -> list[Hypothesis]:
    found = []
    for start in range(0, len(rows), size):
        batch = rows[start : start + size]
        lengths = torch.tensor([len(row) for row in batch])
        ids = torch.tensor([row + [0] * (int(lengths.max()) - len(row)) for row in batch])
        memory = network.encode(Padded(ids, lengths))
        found += Beam(beam_size=5, length_penalty=1.0)(
            network.step,
            network.init_state(memory),
            memory,
            bos=2,
            eos=3,
            forbidden=(0, 1, 2),
            maximum_length=lengths + 2,
        )
    return [best for (best, *_) in found]


@pytest.mark.parametrize(("decoder", "recurrent"), [(BAHDANAU, GRU), (LUONG, LSTM)])
def test_batches_of_1_7_and_64_find_the_same(decoder: object, recurrent: type[GRU]) -> None:
    torch.manual_seed(0)
    network = Seq2Seq(
        spec=SPEC,
        decoder=decoder,  # type: ignore[arg-type]
        recurrent=recurrent,
        embedding_size=16,
        hidden_size=32,
        layers=1,
        dropout=0.3,
    ).eval()
    with torch.inference_mode():
        network.output.weight.mul_(10)  # untrained, all tokens would be nearly as probable
        rows = [[*torch.randint(4, 300, (1 + number % 7,)).tolist(), 3] for number in range(66)]
        alone = translate(network, rows, 1)
        assert len({tuple(one.ids) for one in alone}) > 10, "a network that tells sentences apart"
        for size in (7, 64):
            for one, other in zip(alone, translate(network, rows, size), strict=True):
                assert one.ids == other.ids
                assert one.score == pytest.approx(other.score, abs=1e-5)
