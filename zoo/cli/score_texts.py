"""`zoo predict --score`: how probable trained models find the lines of a file."""

import sys
from collections.abc import Sequence
from pathlib import Path

from zoo.cli.load import Load, is_run
from zoo.cli.predict_texts import read_lines


def score_texts(runs: Sequence[str], *, file: str, load: Load) -> None:
    """Prints log-probability, tokens and perplexity of each line, with tabs between.

    An empty line keeps its place. Of several runs each line stands once for each, behind the run's name. A
    model that can do it has a method `score`, which takes texts and returns of each an answer with
    `log_prob`, `tokens` and `perplexity`.

    Args:
        runs: folders or files.
        file: a text in each line; `-` is standard input.
        load: see `loader`.

    Raises:
        ValueError: there is no such run or file, nothing stands in it, or a run's model gives texts no
            probability.
    """
    from zoo.training.checkpoint import nearest

    for run in runs:
        if not is_run(run):
            near = nearest(Path(run))
            raise ValueError(f"{run!r} is not a run{near}; with --score FILE there is no sentence")
    lines = read_lines(file)
    if not any(lines.values()):
        name = "standard input" if file == "-" else file
        raise ValueError(f"{name} has no line with a text: there is nothing to score")
    models = {}
    for run in runs:
        models[run] = load(run)
        if not hasattr(models[run], "score"):
            raise ValueError(f"the model of {run} gives texts no probability: --score needs a language model")
        print(f"using {models[run].checkpoint}", file=sys.stderr)
    totals = dict.fromkeys(models, (0.0, 0))
    for where, text in lines.items():
        for run, model in models.items():
            before = [run] if len(models) > 1 else []
            if not text:
                print(*before, "", "", "", sep="\t")
                continue
            (found,) = model.score([text])
            for remark in model.remarks_on(text):
                print(*before, f"{where}: {remark}", sep="\t", file=sys.stderr)
            print(*before, f"{found.log_prob:.4f}", found.tokens, f"{found.perplexity:.2f}", sep="\t")
            totals[run] = totals[run][0] + found.log_prob, totals[run][1] + found.tokens
    for run, (log_prob, tokens) in totals.items():
        if tokens:
            mean = -log_prob / tokens
            print(f"{run}: {tokens:,} tokens, {mean:.4f} nats each", file=sys.stderr)
