"""Anyone's own files."""

import gzip
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from data.core.splitting import sentence_key
from data.text.corpus import Pair
from data.text.parallel import Parallel, ParallelData
from data.text.vocabulary import Words
from zoo.config.check import check
from zoo.core.problems import ConfigError
from zoo.runs.frozen import freeze, thaw

PAIRS = [(f"man {number} walks", f"Mann {number} geht") for number in range(400)]


def write(folder: Path, name: str, pairs: list[Pair] = PAIRS) -> list[str]:
    """Two text files; `name` says where the language goes."""
    files = []
    for side, language in enumerate(("en", "de")):
        path = folder / name.format(language)
        content = "".join(f"{pair[side]}\n" for pair in pairs).encode()
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
        files.append(str(path))
    return files


def table(folder: Path, name: str, pairs: list[Pair] = PAIRS, form: str = "{}\t{}\n") -> str:
    path = folder / name
    content = "".join(form.format(*pair) for pair in pairs).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return str(path)


def load(**options: Any) -> dict[str, list[Pair]]:
    return {split: list(pairs) for split, pairs in Parallel(**options).load().items()}


def given(folder: Path, **options: Any) -> dict[str, Any]:
    """Files for every split, five pairs in each."""
    splits = {"train": PAIRS[:5], "val": PAIRS[5:10], "test": PAIRS[10:15]}
    return {split: write(folder, f"{split}.{{}}", pairs) for split, pairs in splits.items()} | options


def test_files_of_every_kind_give_the_same_pairs(tmp_path: Path) -> None:
    rest = {split: table(tmp_path, f"{split}.tsv", PAIRS[:3]) for split in ("val", "test")}
    named = '{{"source": "{}", "target": "{}"}}\n'
    for train in (
        write(tmp_path, "a.{}"),
        write(tmp_path, "a.{}.gz"),
        table(tmp_path, "a.tsv"),
        table(tmp_path, "a.tsv.gz"),
        table(tmp_path, "a.jsonl", form=named),
        table(tmp_path, "a.jsonl.gz", form=named),
        [table(tmp_path, "b.tsv")],
    ):
        assert load(train=train, **rest) == {"train": PAIRS, "val": PAIRS[:3], "test": PAIRS[:3]}
    by_language = table(tmp_path, "c.jsonl", form='{{"en": "{}", "de": "{}"}}\n')
    assert load(train=by_language, **rest, source_language="en", target_language="de")["train"] == PAIRS
    with pytest.raises(
        ValueError, match=r"line 1: must have the keys 'source' and 'target'; it has 'en', 'de'"
    ):
        load(train=by_language, **rest)


def test_what_is_not_given_is_held_out_by_source_sentence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pairs = PAIRS + [(source.upper(), f"{target}!") for source, target in PAIRS]
    with caplog.at_level(logging.INFO, logger="data.text.parallel"):
        splits = load(train=write(tmp_path, "a.{}", pairs))
    assert sorted(pair for split in splits.values() for pair in split) == sorted(pairs)
    keys = {split: {sentence_key(source) for source, _ in found} for split, found in splits.items()}
    assert sum(map(len, keys.values())) == len(PAIRS)
    for split in ("val", "test"):
        assert 10 < len(splits[split]) < 80, "about a twentieth of 800"
        assert f"{len(splits[split])} of 800 pairs held out of train for {split}" in caplog.text
    turned = load(train=write(tmp_path, "b.{}", pairs[::-1]))
    assert {split: sorted(found) for split, found in turned.items()} == {
        split: sorted(found) for split, found in splits.items()
    }
    fewer = load(train=write(tmp_path, "a.{}", pairs), held_out=8)
    assert 0 < len(fewer["val"]) < 25


def test_only_what_is_missing_is_held_out(tmp_path: Path) -> None:
    train, val = write(tmp_path, "a.{}"), write(tmp_path, "v.{}", [("other", "andere")])
    whole, splits = load(train=train), load(train=train, val=val)
    assert splits["val"] == [("other", "andere")]
    assert splits["test"] == whole["test"]
    assert sorted(splits["train"]) == sorted(whole["train"] + whole["val"])


def test_too_few_to_hold_any_out(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^1 pairs have too few different sources .*data\.(val|test)="):
        load(train=write(tmp_path, "a.{}", PAIRS[:1]))


def test_mistakes_are_found_before_anything_is_written(tmp_path: Path) -> None:
    train = table(tmp_path, "a.tsv", [*PAIRS, ("a", "b\tc")])
    with pytest.raises(ValueError, match=r"a\.tsv, line 401: 3 columns"):
        module(tmp_path, train=train).prepare_data()
    assert not (tmp_path / "cache").exists()


def test_a_mistake_in_a_given_split_leaves_nothing_behind(tmp_path: Path) -> None:
    files = given(tmp_path, test=table(tmp_path, "t.tsv", [("a", "")]))
    with pytest.raises(ValueError, match=r"t\.tsv, line 1 lacks source or target"):
        module(tmp_path, **files).prepare_data()
    left = [path for path in (tmp_path / "cache" / "text").iterdir() if path.suffix != ".lock"]
    assert not left


@pytest.mark.hostile("own data")
@pytest.mark.parametrize(
    ("files", "message"),
    [
        (None, r"^train must name your files: one \.tsv or \.jsonl file, or .*data\.train=\[a\.en,a\.de\]"),
        ([], "train must be .*; got 0 files: none"),
        (5, "train must be .*; got 5"),
        ([1, 2], r"train must be .*; got \[1, 2\]"),
        (["~nobody-of-this-name/a.en", "corpus.de"], "which does not exist"),
        (["/dev/null", "/dev/zero"], "train needs /dev/null, which is no ordinary file"),
        (["a.en", "a.de", "a.fr"], r"train must be .*; got 3 files: a\.en, a\.de, a\.fr"),
        ("a.csv", r"train must be one \.tsv .* packed as \.gz; got a\.csv"),
        ("a.gz", r"train must be .*; got a\.gz"),
        (["a.tsv", "b.tsv"], r"train must be .*; got a\.tsv, b\.tsv"),
        (["a.en", "b.jsonl"], r"train must be .*; got a\.en, b\.jsonl"),
        (["a.en", "./a.en"], r"train must be .*; got a\.en twice"),
        (
            ["gone.en", "gone.de"],
            r"^train needs gone\.en, which does not exist; train needs gone\.de, which does",
        ),
    ],
)
def test_files_named_wrongly(tmp_path: Path, files: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        module(tmp_path, train=files)


def test_the_file_that_may_be_meant_is_named(tmp_path: Path) -> None:
    write(tmp_path, "corpus.{}")
    with pytest.raises(
        ValueError, match=r"corpsu\.en, which does not exist \(did you mean .*/corpus\.en\?\)"
    ):
        Parallel(train=[f"{tmp_path}/corpsu.en", f"{tmp_path}/corpus.de"])
    with pytest.raises(ValueError, match="which is a folder"):
        Parallel(train=[str(tmp_path), f"{tmp_path}/corpus.de"])
    for link, place in {"dangling.en": "nowhere", "loop.en": "loop.en"}.items():
        (tmp_path / link).symlink_to(tmp_path / place)
        with pytest.raises(ValueError, match="en, which is a link to nothing"):
            Parallel(train=[f"{tmp_path}/{link}", f"{tmp_path}/corpus.de"])


def test_endings_say_how_files_are_read(tmp_path: Path) -> None:
    table(tmp_path, "a.TSV", PAIRS)
    loud = Parallel(train=str(tmp_path / "a.TSV"))
    assert loud.load()["train"]
    (tmp_path / "a.tsv.gz").write_bytes((tmp_path / "a.TSV").read_bytes())  # not what its name says
    assert Parallel(train=str(tmp_path / "a.tsv.gz")).fingerprint() != loud.fingerprint()


@pytest.mark.parametrize("code", ["klingon", "Deutsch!", "DE", "d"])
def test_languages_are_named_by_their_codes(tmp_path: Path, code: str) -> None:
    with pytest.raises(ValueError, match=r"^target_language: .*ISO 639 code, such as de for German; got '"):
        Parallel(train=write(tmp_path, "a.{}"), target_language=code)


def test_a_file_belongs_to_one_split(tmp_path: Path) -> None:
    files = given(tmp_path)
    with pytest.raises(ValueError, match=r"^test must have files of its own; .*val\.de is in val as well"):
        Parallel(**files | {"test": files["val"]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"held_out": 0}, "held_out must be at least 1, got 0"),
        ({"source_language": "de", "target_language": "de"}, "are both de"),
    ],
)
def test_senseless_values(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Parallel(**given(tmp_path, **options))


def test_the_fingerprint_follows_content_not_place(tmp_path: Path) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    one, other = (Parallel(**given(tmp_path / name)) for name in ("here", "there"))
    assert one.fingerprint() == other.fingerprint()
    Path(other._files["val"][0]).write_text("changed\n" * 5)
    assert one.fingerprint() != other.fingerprint()
    assert one.fingerprint() != Parallel(**given(tmp_path / "here"), target_language="de").fingerprint()


def module(folder: Path, **options: Any) -> ParallelData:
    settings: dict[str, Any] = {"batch_tokens": 200, "maximum_length": 20, "seed": 1}
    return ParallelData(tokenizer=Words(), cache_dir=folder / "cache", **settings | options)


def test_it_trains(tmp_path: Path) -> None:
    data = module(tmp_path, **given(tmp_path, target_language="de"))
    data.setup()
    third = {f"unknown_{side}": pytest.approx(1 / 3) for side in ("source", "target")}  # of `man 7 walks`
    assert data.report == {
        "train": {"pairs": 5, "dropped": 0, "unknown_source": 0, "unknown_target": 0},
        "val": {"pairs": 5, "truncated": 0, "in_train": 0} | third,
        "test": {"pairs": 5, "truncated": 0, "in_train": 0, "in_val": 0} | third,
    }
    assert (data.spec.name, data.spec.text("target").language) == ("parallel", "de")
    assert sorted(text for batch in data.train_dataloader() for text in batch.source_text) == [
        source for source, _ in PAIRS[:5]
    ]


def test_much_that_the_vocabulary_does_not_know_is_said_once_a_split(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = given(tmp_path, val=write(tmp_path, "v.{}", [("man 0 runs", "Mann 0 geht"), *PAIRS[:4]]))
    module(tmp_path, **files).setup()
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert [message for message in said if "does not know" in message] == [
        message for message in said if "split test: the vocabulary does not know 33% of the tokens" in message
    ]
    assert len(said) == 2, "the pairs of train in val are the other line"


def test_a_vocabulary_without_words_is_refused(tmp_path: Path) -> None:
    data = ParallelData(
        **given(tmp_path),
        tokenizer=Words(minimum_count=9999),
        cache_dir=tmp_path / "cache",
        **{"batch_tokens": 200, "maximum_length": 20, "seed": 1},
    )
    with pytest.raises(ValueError, match=r"minimum_count=9999.* finds no token .* lower data\.tokenizer"):
        data.setup()


def test_pairs_of_another_split_are_counted_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tested = write(tmp_path, "t.{}", [("man 1 walks", "anders"), *PAIRS[1:3], PAIRS[7]])
    for _ in range(2):  # the second finds them in the cache
        caplog.clear()
        data = module(tmp_path, **given(tmp_path, test=tested))
        data.setup()
        found = {split: report.get("in_train") for split, report in data.report.items()}
        assert found == {"train": None, "val": 0, "test": 2}
        assert data.report["test"]["in_val"] == 1
        (said,) = (record.getMessage() for record in caplog.records if "copies" in record.message)
        assert "of split test have copies, 2 in train and 1 in val; for example 'man 1 wal" in said


def test_the_check_reads_the_beginnings_of_files(tmp_path: Path) -> None:
    train = write(tmp_path, "a.{}")
    Path(train[1]).write_bytes("Straße\n".encode("latin-1") * 400)
    with pytest.raises(ValueError, match=r"a\.de, line 1: byte 0xdf at column 5 is not UTF-8"):
        module(tmp_path, train=train).check_files()
    with pytest.raises(ValueError, match=r"v\.tsv is empty"):
        module(tmp_path, **given(tmp_path, val=table(tmp_path, "v.tsv", []))).check_files()
    module(tmp_path, **given(tmp_path)).check_files()


def test_the_check_finds_missing_files(
    tmp_path: Path, configure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a.{}")
    monkeypatch.chdir(tmp_path)
    check(configure("data=parallel", "data.train=[a.en,a.de]"))
    for override, message in (
        ("data.train=[a.en,b.de]", rf"data\.train: needs {tmp_path}/b\.de, which does not exist"),
        ("data.train=[a.en]", r"data\.train: must be one \.tsv"),
        ("data.train=7", r"data\.train: ParallelData takes text or a list or null, got 7"),
        ("data.train=null", r"data\.train: must name your files"),
    ):
        with pytest.raises(ConfigError, match=message):
            check(configure("data=parallel", override))


def test_scoring_by_words_needs_the_target_language(tmp_path: Path, configure: Any) -> None:
    source, target = write(tmp_path, "a.{}")
    line = ["data=parallel", f"data.train=[{source},{target}]", "task.monitor=val/bleu_tok_lc"]
    check(configure(*line, "data.target_language=de"))
    with pytest.raises(ConfigError, match="the target text has no language"):
        check(configure(*line))


def test_relative_paths_stay_what_they_were_when_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zoo.config import resolvers
    from zoo.config.compose import compose_jobs

    resolvers.register()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    line = ["data=parallel", "data.train=[a.en,sub/../a.de]", "data.val=v.tsv", "data.test=['~/t.tsv']"]
    composed = compose_jobs(Path(__file__).parents[3] / "conf", line, False)[0].composed
    (tmp_path / "run").mkdir()
    freeze(composed, tmp_path / "run", line)
    monkeypatch.chdir(os.sep)
    data = thaw(tmp_path / "run" / "config.yaml")["data"]
    assert data["train"] == [f"{tmp_path}/a.en", f"{tmp_path}/a.de"]
    assert (data["val"], data["test"]) == (f"{tmp_path}/v.tsv", [f"{tmp_path}/home/t.tsv"])
