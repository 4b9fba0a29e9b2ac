"""Small classifiers of made-up texts and documents, for tests."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from data.text.classification import ClassificationData
from data.text.labelled.needles import Needle, NeedleDocuments
from data.text.vocabulary import Tokens
from zoo.attention import Dot, Hard, LearnedBaseline, Soft
from zoo.core.spec import DataSpec, LabelSpec
from zoo.core.text import text_spec
from zoo.networks.convolutional import ConvolutionalText
from zoo.networks.hierarchical import HierarchicalAttention
from zoo.networks.lstm_attention import LSTMAttention
from zoo.networks.pooling import AttentionPooling, LearnedQuery, OtherText, Pooling
from zoo.networks.recurrent import GRU
from zoo.tasks.classification.batch import ClassificationBatch
from zoo.tasks.classification.task import ClassificationTask

TEXTS = ["the film was good .", "bad", "a long and boring film about a good dog", "the dog was the best"]
DOCUMENTS = [
    ["the film was long .", "it was good ."],
    ["a bad dog ."],
    ["the best film .", "about a dog .", "a long and good film about the best dog ."],
    ["boring .", "boring and bad ."],
]
CLASSES = ("bad", "fair", "good")
WORDS = Tokens(lowercase=True, special=("pad", "unk")).train([*TEXTS, *(" ".join(one) for one in DOCUMENTS)])


def spec(sentences: int = 1) -> DataSpec:
    text = text_spec(WORDS, maximum_length=12, maximum_sentences=sentences)
    return DataSpec("films", {"text": text, "label": LabelSpec(CLASSES)})


TEXT, DOCUMENT = spec(), spec(4)


def attention(
    selection: Callable[..., nn.Module] = Soft, query: Callable[..., nn.Module] = LearnedQuery
) -> Callable[..., Pooling]:
    return partial(AttentionPooling, query=query, attention={"score": Dot, "selection": selection})


def flat(pooling: Callable[..., Pooling] | None = None, data: DataSpec = TEXT) -> LSTMAttention:
    torch.manual_seed(0)
    sizes = {"embedding_size": 8, "embedding_range": 1.7, "hidden_size": 8, "layers": 1, "dropout": 0.0}
    return LSTMAttention(spec=data, recurrent=GRU, pooling=pooling or attention(), **sizes)  # type: ignore[arg-type]


def hierarchical(
    words: Callable[..., Pooling] | None = None,
    sentences: Callable[..., Pooling] | None = None,
    data: DataSpec = DOCUMENT,
) -> HierarchicalAttention:
    torch.manual_seed(0)
    return HierarchicalAttention(
        spec=data,
        recurrent=GRU,
        word_pooling=words or attention(),
        sentence_pooling=sentences or attention(),
        embedding_size=8,
        embedding_range=1.7,
        hidden_size=8,
        dropout=0.0,
    )


def convolutional(selection: Callable[..., nn.Module] = Soft) -> ConvolutionalText:
    torch.manual_seed(0)
    sizes = {"embedding_size": 8, "filters": 4, "widths": (1, 3), "dropout": 0.0}
    pooling = attention(selection, OtherText)
    return ConvolutionalText(spec=TEXT, pooling=pooling, recurrent=GRU, **sizes)  # type: ignore[arg-type]


def of_single_words(data: DataSpec) -> ConvolutionalText:
    """Reads one word of a text, hard, and knows nothing of the others."""
    torch.manual_seed(0)
    sizes = {"embedding_size": 16, "filters": 16, "widths": (1,), "dropout": 0.0}
    return ConvolutionalText(spec=data, pooling=attention(Hard), **sizes)  # type: ignore[arg-type]


NETWORKS = {"flat": flat, "hierarchical": hierarchical, "convolutional": convolutional}


def make_task(network: nn.Module, data: DataSpec | None = None, **changes: Any) -> ClassificationTask:
    torch.manual_seed(1)
    known = data or (DOCUMENT if isinstance(network, HierarchicalAttention) else TEXT)
    settings = {
        "optimizer": partial(torch.optim.Adam, lr=1e-2),
        "scheduler": None,
        "penalty": 0.0,
        "train_items": 0,
        "monitor": "val/accuracy",
        "reinforce": {"baseline": LearnedBaseline, "entropy_weight": 0.1, "weight": 0.5},
    }
    return ClassificationTask(network=network, spec=known, **{**settings, **changes})


def batch(task: ClassificationTask, place: torch.Tensor | None = None) -> ClassificationBatch:
    raw: list[Any] = DOCUMENTS if task.reader.reads_documents else TEXTS
    text = task.reader.batch([task.reader.encode(one) for one in raw])
    return ClassificationBatch(torch.arange(4), text, torch.tensor([2, 0, 1, 2]), raw, place)


def needles(folder: Path, *, documents: bool = False, train: int = 2000) -> ClassificationData:
    sizes = {"minimum_length": 4, "maximum_length": 8, "seed": 1, "train": train, "validation": 200}
    corpus = NeedleDocuments(sentences=4, test=10, **sizes) if documents else Needle(test=10, **sizes)
    data = ClassificationData(
        corpus=corpus,
        tokenizer=Tokens(lowercase=True, special=("pad", "unk")),
        batch_tokens=512,
        maximum_length=8,
        maximum_sentences=4,
        seed=1,
        cache_dir=folder,
    )
    data.prepare_data()
    data.setup()
    return data
