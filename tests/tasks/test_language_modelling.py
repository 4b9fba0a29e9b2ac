"""Language modelling: its loss and scores, states that are carried on, and what the predictor does."""

import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from quiet import quiet_trainer
from torch import Tensor, nn

from data.text.language import LanguageData
from data.text.running.corpora import OwnRunningText
from data.text.running.vocabulary import EveryCharacter
from zoo.attention import ScaledDot
from zoo.core.spec import DataSpec
from zoo.core.text import TextCodec, text_spec
from zoo.decoding import Greedy, Sample, Step
from zoo.networks.gpt import Gpt
from zoo.networks.language_model import Modelled, step_by_window
from zoo.networks.positions import Learned
from zoo.tasks.language_modelling.batch import TextBatch
from zoo.tasks.language_modelling.figures import LanguageFigures
from zoo.tasks.language_modelling.predictor import TextGenerator
from zoo.tasks.language_modelling.sample_table import SampleTable
from zoo.tasks.language_modelling.scores import LOSS_ITEMS, kind_of_tokens
from zoo.tasks.language_modelling.task import LanguageModelling

TEXT = "abcabcabdabc" * 12
CONTEXT = 8


def spec(text: str = TEXT) -> DataSpec:
    return DataSpec("letters", {"text": text_spec(EveryCharacter().train([text]), maximum_length=CONTEXT)})


def gpt(data: DataSpec, **changes: Any) -> Gpt:
    torch.manual_seed(0)
    sizes = {"model_size": 16, "feed_forward_size": 32, "heads": 2, "layers": 2, "dropout": 0.0}
    return Gpt(
        spec=data,
        attention={"score": ScaledDot},
        positions=partial(Learned, maximum_length=CONTEXT),
        attention_dropout=0.0,
        activation=nn.GELU,
        **(sizes | changes),
    )


class Counting(nn.Module):
    """A network whose state is the sum of the embeddings of all that it has read."""

    carries = True
    context = None

    def __init__(self, data: DataSpec) -> None:
        super().__init__()
        torch.manual_seed(0)
        size = data.text("text").size
        self.embed, self.output = nn.Embedding(size, 6), nn.Linear(6, size)

    def forward(self, tokens: Tensor, state: Any = None) -> Modelled:
        hidden = self.embed(tokens).cumsum(1)
        if state is not None:
            hidden = hidden + state[0].unsqueeze(1)
        return Modelled(hidden.tanh(), (hidden[:, -1],))

    def init_state(self, batch_size: int) -> tuple[Tensor]:
        return (self.embed.weight.new_zeros(batch_size, 1, 6),)

    def step(self, tokens: Tensor, state: Any, memory: Any = None) -> Step:
        return step_by_window(self, tokens, state)


def make_task(network: nn.Module, data: DataSpec, **changes: Any) -> LanguageModelling:
    settings = {
        "optimizer": partial(torch.optim.Adam, lr=1e-2),
        "scheduler": None,
        "decoding": Sample(),
        "monitor": "val/loss",
    }
    return LanguageModelling(network=network, spec=data, **(settings | changes))


def windows(data: DataSpec, *texts: str, carried: bool = False) -> TextBatch:
    codec = TextCodec(data.text("text"))
    ids = torch.tensor(codec.encode(texts))
    return TextBatch(torch.arange(len(texts)), ids[:, :-1], ids[:, 1:], torch.full((len(texts),), carried))


def text_data(folder: Path, **options: Any) -> LanguageData:
    path = folder / "text.txt"
    path.write_text(TEXT)
    settings = {"batch_size": 4, "maximum_length": CONTEXT, "shuffled": True, "seed": 1, **options}
    data = LanguageData(
        corpus=OwnRunningText(train=str(path), held_out=0.2),
        tokenizer=EveryCharacter(),
        cache_dir=folder / "cache",
        **settings,
    )
    data.prepare_data()
    data.setup()
    return data


def predictor_of(task: LanguageModelling) -> TextGenerator:
    predictor = TextGenerator.__new__(TextGenerator)
    predictor.task, predictor.precision = task.eval(), "32-true"
    return predictor


def test_the_loss_is_the_mean_over_targets_that_count() -> None:
    data = spec()
    task = make_task(gpt(data), data)
    batch = windows(data, "abcab", "dabca")
    targets = batch.targets.clone()
    targets[0, 2:] = data.text("text").pad
    loss, terms = task.loss_of(batch._replace(targets=targets))
    scores = task.network.output(task.network(batch.tokens).hidden).double().log_softmax(-1)
    picked = [
        -float(scores[row, place, targets[row, place]])
        for row in range(2)
        for place in range(4)
        if row or place < 2
    ]
    assert float(loss) == pytest.approx(sum(picked) / 6, rel=1e-5)
    assert terms["cross_entropy"] is loss


def test_kinds_of_tokens_decide_what_can_be_measured() -> None:
    assert kind_of_tokens(spec().text("text")) == "characters"


def test_scores_of_items_are_those_of_the_split() -> None:
    scorer = LOSS_ITEMS.scorer("")
    rows = LOSS_ITEMS.statistics(scorer, [{"score": -3.0, "tokens": 2}, {"score": -6.0, "tokens": 4}])
    assert scorer.score(rows.sum(0).tolist()) == pytest.approx(1.5)


class TestStates:
    def test_windows_that_go_on_see_what_was_before(self) -> None:
        data = spec()
        task = make_task(Counting(data), data)
        task._part = "train0"
        whole = windows(data, "abcabdabc", "cabcabcab")
        first = whole._replace(tokens=whole.tokens[:, :4], targets=whole.targets[:, :4])
        second = whole._replace(
            tokens=whole.tokens[:, 4:], targets=whole.targets[:, 4:], carried=torch.tensor([True, False])
        )
        task.loss_of(first)
        loss, _ = task.loss_of(second)
        read = task.network(whole.tokens[:1]).hidden[:, 4:]
        alone = task.network(second.tokens[1:]).hidden
        scores = task.network.output(torch.cat([read, alone]))
        expected = F.cross_entropy(scores.flatten(0, 1), second.targets.flatten())
        torch.testing.assert_close(loss, expected)

    def test_no_gradient_flows_into_the_window_before(self) -> None:
        data = spec()
        task = make_task(Counting(data), data)
        task._part = "train0"
        task.loss_of(windows(data, "aaaa"))
        loss, _ = task.loss_of(windows(data, "bbbb", carried=True))
        loss.backward()
        weight = task.network.embed.weight.grad
        assert weight is not None
        assert not weight[TextCodec(data.text("text")).encode(["a"])[0][0]].any()

    def test_a_checkpoint_has_them(self) -> None:
        data = spec()
        task, again = (make_task(Counting(data), data) for _ in range(2))
        for one in (task, again):
            one._part = "train0"
        task.loss_of(windows(data, "abcab", "cabca"))
        checkpoint: dict[str, Any] = {}
        task.on_save_checkpoint(checkpoint)
        assert all(isinstance(leaf, Tensor) for leaf in checkpoint["carried_states"]["train0"])
        again._trainer = type("One", (), {"world_size": 1})()  # type: ignore[assignment]
        again.on_load_checkpoint(checkpoint)
        again._trainer = None
        batch = windows(data, "dabca", "bcabd", carried=True)
        torch.testing.assert_close(again.loss_of(batch)[0], task.loss_of(batch)[0])
        assert float(again.loss_of(batch)[0]) != float(make_task(Counting(data), data).loss_of(batch)[0])

    def test_validation_leaves_those_of_training_alone(self, tmp_path: Path) -> None:
        data = text_data(tmp_path, shuffled=False)
        task = make_task(Counting(data.spec), data.spec)
        quiet_trainer(tmp_path, max_steps=2).fit(task, datamodule=data)
        before = task._states["train0"][0].clone()
        quiet_trainer(tmp_path).validate(task, datamodule=data, verbose=False)
        torch.testing.assert_close(task._states["train0"][0], before)


def test_gpt_learns_a_rule(tmp_path: Path) -> None:
    data = text_data(tmp_path)
    task = make_task(gpt(data.spec), data.spec, optimizer=partial(torch.optim.Adam, lr=3e-3))
    trainer = quiet_trainer(tmp_path, max_steps=150)
    trainer.fit(task, datamodule=data)
    trainer.test(task, datamodule=data, verbose=False)
    found = {name: float(value) for name, value in trainer.callback_metrics.items()}
    assert found["test/loss"] < 0.4
    assert found["test/accuracy"] > 0.8
    assert found["test/perplexity"] == pytest.approx(math.exp(found["test/loss"]), rel=1e-4)
    assert found["test/bits_per_character"] == pytest.approx(found["test/loss"] / math.log(2), rel=1e-4)
    rows = task.predictions["test"]
    scorer = LOSS_ITEMS.scorer("")
    assert scorer.score(LOSS_ITEMS.statistics(scorer, rows).sum(0).tolist()) == pytest.approx(
        found["test/loss"], rel=1e-5
    )
    losses = task.details()["loss_by_position"]
    assert len(losses) == CONTEXT
    assert losses[0] > losses[-1]
    assert "characters" in task.signatures["loss"]
    assert predictor_of(task)("abcabcab").startswith("abcabcab")
    assert predictor_of(task).predict(["cabcab"], temperature=0, length=4)[0][0].text[0] in "cd"


class TestUse:
    def task(self, network: type[nn.Module] | None = None) -> LanguageModelling:
        data = spec()
        made = network(data) if network else gpt(data)  # type: ignore[call-arg]
        with torch.no_grad():
            for weight in made.parameters():
                weight += 0.5 * torch.randn_like(weight)
        return make_task(made, data)

    @pytest.mark.parametrize("network", [None, Counting])
    def test_greedy_is_the_most_probable_token_each_time(self, network: type[nn.Module] | None) -> None:
        task = self.task(network)
        predictor = predictor_of(task)
        (ids,) = task.codec.encode(["abca"])
        special = len(task.text.special)
        for _ in range(12):
            seen = ids if network else ids[-CONTEXT:]
            scores = task.network.output(task.network(torch.tensor([seen])).hidden[0, -1])
            ids.append(int(scores[special:].argmax()) + special)
        found = predictor.predict(["abca"], temperature=0, length=12)[0][0]
        assert found.prompt + found.text == task.codec.decode(ids)
        assert "".join(predictor.stream("abca", temperature=0, length=12)) == found.text

    def test_a_text_is_continued_as_if_alone(self) -> None:
        predictor = predictor_of(self.task())
        together = predictor.predict(["abc", "dabca", "b"], length=9, nbest=2)
        assert together == [predictor.predict([text], length=9, nbest=2)[0] for text in ("abc", "dabca", "b")]
        assert len({one.text for one in together[0]}) == 2

    def test_a_stream_is_the_answer(self) -> None:
        predictor = predictor_of(self.task())
        whole = predictor.predict(["abc"], length=15, seed=3, top_k=3)[0][0].text
        assert "".join(predictor.stream("abc", length=15, seed=3, top_k=3)) == whole
        assert predictor.predict(["abc"], length=15, seed=4, top_k=3)[0][0].text != whole

    def test_a_stream_that_ends_within_a_character_is_the_answer(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        task = self.task()
        monkeypatch.setattr(task, "text_behind", lambda ids, written: "a" * (len(written) - 1) + "\ufffd")
        assert "".join(predictor_of(task).stream("abc", length=3, temperature=0)) == "aa\ufffd"

    @pytest.mark.parametrize("network", [None, Counting])
    def test_a_text_has_the_probability_of_its_tokens(self, network: type[nn.Module] | None) -> None:
        task = self.task(network)
        (ids,) = task.codec.encode(["abcabda"])
        scores = task.network.output(task.network(torch.tensor([ids])).hidden[0]).log_softmax(-1)
        expected = sum(float(scores[place, token]) for place, token in enumerate(ids[1:]))
        (found,) = predictor_of(task).score(["abcabda"])
        assert found.tokens == 6
        assert found.log_prob == pytest.approx(expected, rel=1e-4)
        assert found.perplexity == pytest.approx(math.exp(-expected / 6), rel=1e-4)

    @pytest.mark.parametrize("network", [None, Counting])
    def test_each_token_of_a_long_text_has_some_context(self, network: type[nn.Module] | None) -> None:
        task = self.task(network)
        (ids,) = task.codec.encode([TEXT[:50]])
        (found,) = task.score([ids])
        assert len(found) == 49
        for place in (1, 20, 47):
            first = 0 if network else max(0, place + 1 - CONTEXT)
            candidates = [
                float(
                    task.network.output(
                        task.network(torch.tensor([ids[start : place + 1]])).hidden[0, -1]
                    ).log_softmax(-1)[ids[place + 1]]
                )
                for start in range(first, first + CONTEXT // 2 + 1 if not network and first else first + 1)
            ]
            assert min(abs(found[place] - one) for one in candidates) < 1e-4

    def test_refuses(self) -> None:
        predictor = predictor_of(self.task())
        for options in ({"length": 0}, {"temperature": 0, "nbest": 2}, {"top_p": 2.0}):
            with pytest.raises(ValueError, match=r"length|greedy|top_p"):
                predictor.predict(["abc"], **options)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="token"):
            predictor.predict([""])

    def test_a_context_that_does_not_slide_is_filled_and_no_more(self) -> None:
        data = spec()
        predictor = predictor_of(make_task(gpt(data, slides=False), data))
        room = CONTEXT + 1 - 3
        (found,) = predictor.predict(["abc"], length=room, temperature=0)[0]
        assert len(found.text) == room
        assert "".join(predictor.stream("abc", length=room, temperature=0)) == found.text
        for ask in (predictor.predict, lambda texts, **named: next(predictor.stream(texts[0], **named))):
            with pytest.raises(ValueError, match=f"does not slide .* give at most {room}$"):
                ask(["abc"], length=room + 1)
            with pytest.raises(ValueError, match="the text is too long"):
                ask(["abc" * CONTEXT], length=1)


class TestShown:
    def test_samples_end_with_a_context_that_does_not_slide(self, tmp_path: Path) -> None:
        data = text_data(tmp_path)
        task = make_task(gpt(data.spec, slides=False), data.spec)
        table = SampleTable(folder=tmp_path, texts=1, length=4 * CONTEXT)
        quiet_trainer(tmp_path, max_steps=2, callbacks=[table]).fit(task, datamodule=data)
        (item,) = table.items(task.eval(), 1)
        assert len(item["input"] + item["prediction"]) == CONTEXT + 1

    def test_texts_are_continued_at_a_validation(self, tmp_path: Path) -> None:
        data = text_data(tmp_path)
        task = make_task(gpt(data.spec), data.spec, decoding=Greedy())
        table = SampleTable(folder=tmp_path, texts=2, length=6)
        trainer = quiet_trainer(tmp_path, max_steps=2, callbacks=[table])
        trainer.fit(task, datamodule=data)
        items = table.items(task.eval(), 2)
        assert len(items) == 2
        windows = [item["input"] for item in task.predictions["val"]]
        for item in items:
            assert any(window.startswith(item["input"]) for window in windows)
            assert item["input"] + item["references"][0] in windows
            whole = predictor_of(task).predict([item["input"]], temperature=0, length=6)[0][0]
            assert item["prediction"] == whole.text
        shown = (tmp_path / "samples.txt").read_text()
        assert shown.count("prediction") == 2 * shown.count("step ")
        with pytest.raises(ValueError, match="length must be at least 2"):
            SampleTable(folder=tmp_path, length=1)

    def test_a_line_break_of_a_text_breaks_no_line(self, tmp_path: Path) -> None:
        class Lines(SampleTable):
            def items(self, task: Any, number: int) -> list[dict[str, Any]]:
                return [{"input": "a\nb", "references": ["c\n"], "prediction": "\n"}]

        data = text_data(tmp_path)
        trainer = quiet_trainer(tmp_path, max_steps=2, callbacks=[Lines(folder=tmp_path)])
        trainer.fit(make_task(gpt(data.spec), data.spec), datamodule=data)
        lines = (tmp_path / "samples.txt").read_text().splitlines()
        assert [line.split(maxsplit=1)[1] for line in lines[1:4]] == [r"a\nb", r"c\n", r"\n"]

    @pytest.mark.parametrize("network", [None, Counting])
    def test_figures(self, tmp_path: Path, network: type[nn.Module] | None) -> None:
        data = text_data(tmp_path, shuffled=False)
        made = network(data.spec) if network else gpt(data.spec)  # type: ignore[call-arg]
        task = make_task(made, data.spec)
        figures = LanguageFigures(folder=tmp_path, every_n_validations=1)
        trainer = quiet_trainer(tmp_path, max_steps=2, callbacks=[figures])
        trainer.fit(task, datamodule=data)
        found = {path.name.partition("_step")[0] for path in (tmp_path / "figures").iterdir()}
        assert found == ({"loss_by_position"} if network else {"loss_by_position", "heads_text1"})

    def test_heads_of_a_text_are_drawn(self, tmp_path: Path) -> None:
        data = spec()
        one, two = (predictor_of(make_task(gpt(data, layers=layers), data)) for layers in (1, 2))
        paths = TextGenerator.draw({"one": one, "two": two}, "abcab", tmp_path / "a.png")
        assert [path.name for path in paths] == ["a.png", "a_two_heads.png"]
        assert all(path.stat().st_size for path in paths)
        recurrent = predictor_of(make_task(Counting(data), data))
        with pytest.raises(ValueError, match="has no attention"):
            TextGenerator.draw({"sums": recurrent}, "abc", tmp_path / "a.png")


def test_it_shows_what_each_token_read_and_what_may_follow() -> None:
    data = spec()
    task = make_task(gpt(data), data, decoding=Greedy())
    text = TEXT[: CONTEXT // 2]
    found = predictor_of(task).explore(text)
    (view,) = found.views
    assert "".join(view.queries).startswith(text)
    assert len(view.queries) == len(view.candidates) == CONTEXT
    assert view.weights.shape[2:] == (CONTEXT, CONTEXT)
    assert found.answers[0].text == "".join(view.queries)
    likely = [one.text for one in view.candidates[len(text) - 1]]
    assert likely[0] == view.queries[len(text)], "greedy search takes the likeliest"
    assert [one.text for one in found.answers[1:]] == likely
    for before, after in zip(view.candidates, view.queries[1:], strict=False):
        assert after in [one.text for one in before]


def test_of_a_long_text_it_shows_the_end() -> None:
    data = spec()
    found = predictor_of(make_task(gpt(data), data)).explore(TEXT[: 3 * CONTEXT])
    assert "".join(found.views[0].queries) == TEXT[2 * CONTEXT : 3 * CONTEXT]
    assert "the last" in found.notes[0]


def test_a_model_without_attention_shows_what_may_follow() -> None:
    data = spec()
    found = predictor_of(make_task(Counting(data), data, decoding=Greedy())).explore(TEXT[:5])
    assert not found.views
    assert "no attention" in found.notes[0]
    assert len(found.answers) == 6
