"""The parts, in order of worth; each yields the names of its measurements, and what takes them."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from on_gpu.models import (
    WITH_BUILT_IN_DATA,
    Model,
    captioner,
    glimpses,
    luong,
    sentences,
    transformer_base,
    vocabulary,
    with_built_in_data,
)
from on_gpu.setting import Setting
from zoo.attention import MultiHeadAttention, SelfAttention, padding_mask
from zoo.decoding import Beam
from zoo.runtime.compiling import compilations
from zoo.runtime.flops import flop_counter, peak_flops

PROJECT = Path(__file__).resolve().parents[2]
Figures = dict[str, Any]
Measurements = Iterator[tuple[str, Callable[[], Figures]]]
Part = Callable[[Setting], Measurements]


def tests(setting: Setting) -> Measurements:
    """Those with the marker `gpu`."""
    yield "all", partial(_tested, setting)


def _tested(setting: Setting) -> Figures:
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "-q", "--tb=short", "-p", "no:cacheprovider"]
    where = (
        ["tests/gpu"] if setting.tiny else ["tests/gpu", "tests/attention", "tests/training", "tests/kernels"]
    )
    environment = os.environ | {"ZOO_TEST_DEVICE": setting.device.type, "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [*command, *where],
            cwd=PROJECT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=max(1.0, setting.seconds_left - 60),
        )
        output, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as error:
        output, code = (error.stdout or b"").decode(), -1
    counted = re.findall(r"(\d+) (passed|failed|error|errors|skipped)", output)
    return {
        **{outcome: int(number) for number, outcome in counted},
        "exit_code": code,
        "failures": re.findall(r"^(?:FAILED|ERROR) .*", output, re.MULTILINE),
        "output": "" if code == 0 else output[-20_000:],
    }


def base(setting: Setting) -> Measurements:
    """Transformer base on 64 x 512 tokens: a step of training as a share of the card's peak."""
    for name, precision, products, compiled in (
        ("bf16-mixed", "bf16-mixed", "highest", False),
        ("bf16-mixed, compiled", "bf16-mixed", "highest", True),
        ("32-true", "32-true", "highest", False),
        ("32-true in TF32", "32-true", "high", False),
    ):
        yield name, partial(_step_of_base, setting, precision, products, compiled=compiled)


def _step_of_base(setting: Setting, precision: str, products: str, *, compiled: bool) -> Figures:
    count, length = setting.size(64, 4), setting.size(512, 8)
    torch.set_float32_matmul_precision(products)
    try:
        setting.forget()
        model = transformer_base(setting, count, length, compiled=compiled)
        step = model.step(setting, precision)
        first = _seconds(setting, partial(step, 0))
        milliseconds = setting.milliseconds(partial(step, 1), repeats=setting.size(10, 2), unmeasured=2)
    finally:
        torch.set_float32_matmul_precision("highest")
    flops, peak = transformer_flops(model, count, length), peak_flops(setting.device)
    figures: Figures = {
        "milliseconds": milliseconds,
        "first_step_seconds": first,
        "gigabytes": setting.peak_gigabytes(),
        "tokens_per_second": count * length / milliseconds * 1e3,
        "flops": flops,
        "tflops_per_second": flops / milliseconds / 1e9,
    }
    if peak:
        figures |= {"peak_tflops": peak / 1e12, "mfu": flops / milliseconds * 1e3 / peak}
    if precision == "bf16-mixed":
        kernels = _kernels(setting, partial(step, 1))
        # Less than a step takes: the device waits for the host.
        figures["kernel_milliseconds"] = sum(row[1] for row in kernels)
        figures["kernels"] = kernels[:20]
    return figures


def transformer_flops(model: Model, count: int, length: int) -> int:
    """Operations of a step of training on `count` pairs of `length` tokens each; see docs/speed.md."""
    network = model.task.network
    inner, *_ = network.encoder.layers[0].feed_forward
    return count * training_flops(
        length,
        size=network.output.in_features,
        hidden=inner.out_features,
        words=network.output.out_features,
        encoder=len(network.encoder.layers),
        decoder=len(network.decoder.layers),
    )


def training_flops(length: int, *, size: int, hidden: int, words: int, encoder: int, decoder: int) -> int:
    """Of one pair of sentences, both of `length` tokens: three times what the forward pass multiplies, twice.

    A layer of the encoder has 4 d² + 2 d f multiplications a token in its weights and 2 n d in its two
    products of queries, keys and values; one of the decoder 8 d² + 2 d f and 4 n d; the output V d.
    """
    layer = 4 * size * size + 2 * size * hidden + 2 * length * size
    crossing = 4 * size * size + 2 * length * size
    return 3 * 2 * length * (encoder * layer + decoder * (layer + crossing) + words * size)


def models(setting: Setting) -> Measurements:
    """The four large models: speed, memory and what they have learned after 200 steps, in each way."""
    count = setting.size(64, 4)
    makers: dict[str, Callable[..., Model]] = {
        "transformer base": partial(transformer_base, setting, count, setting.size(128, 8)),
        "luong": partial(luong, setting, setting.size(128, 4), setting.size(40, 8)),
        "captioner": partial(captioner, setting),
        "glimpses": partial(glimpses, setting),
    }
    for precision, compiled in (("bf16-mixed", False), ("32-true", False), ("bf16-mixed", True)):
        for name, make in makers.items():
            yield (
                f"{name}, {precision}{', compiled' if compiled else ''}",
                partial(_trained, setting, partial(make, compiled=compiled), precision, compiled=compiled),
            )


def others(setting: Setting) -> Measurements:
    """The same of text classifiers, matching, language models and the Neural Turing Machine, not compiled."""
    for precision in ("bf16-mixed", "32-true"):
        for name, line in WITH_BUILT_IN_DATA.items():
            make = partial(with_built_in_data, setting, line, compiled=False)
            yield f"{name}, {precision}", partial(_trained, setting, make, precision, compiled=False)


def _trained(setting: Setting, make: Callable[[], Model], precision: str, *, compiled: bool) -> Figures:
    setting.forget()
    model, steps = make(), setting.size(200, 6)
    step = model.step(setting, precision)
    first, unmeasured = _seconds(setting, lambda: step(0)), 1 + len(model.batches) // 4
    losses = [step(number) for number in range(1, unmeasured)]
    setting.wait()
    start = time.perf_counter()
    for number in range(unmeasured, steps):
        losses.append(step(number))
        if setting.seconds_left <= 0:
            break
    setting.wait()
    steps = 1 + len(losses)
    seconds = (time.perf_counter() - start) / (steps - unmeasured)
    figures: Figures = {
        f"{model.item}_per_second": model.items / seconds,
        "milliseconds": seconds * 1e3,
        "gigabytes": setting.peak_gigabytes(),
        "first_step_seconds": first,
        "steps": steps,
        "loss": torch.stack(losses[-len(model.batches) :]).mean().item(),
    }
    if compiled:
        figures["compilations"] = len([one for one in compilations() if not one.refused])
    else:
        with flop_counter() as counter:
            step(0)
        flops, peak = counter.get_total_flops(), peak_flops(setting.device)
        figures |= {f"flops_per_{model.item.removesuffix('s')}": flops / model.items}
        if peak:
            figures["mfu"] = flops / seconds / peak
    return figures


def search(setting: Setting) -> Measurements:
    """Beam 5: sentences a second, each of 30 words into 30."""
    for name, make in (("transformer base", transformer_base), ("luong", luong)):
        for precision in ("32-true", "bf16-mixed"):
            yield f"{name}, {precision}", partial(_searched, setting, make, precision)


def _searched(setting: Setting, make: Callable[..., Model], precision: str) -> Figures:
    count, length = setting.size(64, 3), setting.size(30, 5)
    model = make(setting, count, length, compiled=False)
    setting.forget()
    find = partial(_found, setting, model, sentences(setting, count, length, 100), length, precision)
    milliseconds = setting.milliseconds(find, repeats=setting.size(3, 1), unmeasured=1)
    return {
        "sentences_per_second": count / milliseconds * 1e3,
        "milliseconds": milliseconds,
        "gigabytes": setting.peak_gigabytes(),
    }


@torch.no_grad()
def _found(setting: Setting, model: Model, source: Any, length: int, precision: str) -> None:
    """Searches translations of exactly so many words."""
    network, text = model.task.network.eval(), model.task.spec.text("target")
    with setting.autocast(precision):
        memory = network.encode(source)
        Beam(beam_size=5, length_penalty=1.0)(
            network.step,
            network.init_state(memory),
            memory,
            bos=text.bos,
            eos=text.eos,
            forbidden=(text.pad, text.unk, text.bos, text.eos),
            maximum_length=torch.full_like(source.lengths, length),
        )


def reading(setting: Setting) -> Measurements:
    """Forward and backward of 8 heads of 64 over 16,384 tokens: the fused kernel beside plain products."""
    for length in (32, 128, 512, 2048) if not setting.tiny else (16, 32):
        yield f"{length} keys", partial(_read_both_ways, setting, length)


def _read_both_ways(setting: Setting, length: int) -> Figures:
    tokens, size = setting.size(16_384, 64), setting.size(512, 16)
    attention = MultiHeadAttention(query_size=size, heads=8, dropout=0.0).to(setting.device)
    inputs = torch.randn(tokens // length, length, size, device=setting.device, requires_grad=True)
    mask = padding_mask(torch.randint(length // 2, length + 1, (len(inputs),)), length).to(setting.device)
    figures: Figures = {}
    for how, weights in (("fused", False), ("products", True)):
        setting.forget()
        read = partial(_read, setting, attention, inputs, mask, weights=weights)
        figures[f"{how}_milliseconds"] = setting.milliseconds(read, repeats=setting.size(10, 1))
        figures[f"{how}_gigabytes"] = setting.peak_gigabytes()
    return figures | {"products / fused": figures["products_milliseconds"] / figures["fused_milliseconds"]}


def _read(setting: Setting, attention: Any, inputs: Tensor, mask: Tensor, *, weights: bool) -> None:
    with setting.autocast("bf16-mixed"):
        memory = attention.prepare(inputs, keep_mask=mask)
        context = attention(inputs, memory, weights=weights).context
    context.sum().backward()


def windows(setting: Setting) -> Measurements:
    """Forward and backward of self-attention over one sequence: to all, and to 128 on either side."""
    for length in (4096, 16_384, 65_536) if not setting.tiny else (64, 128):
        for name, window in (("all", None), ("window", setting.size(128, 8))):
            yield f"{length} positions, {name}", partial(_read_near, setting, length, window)


def _read_near(setting: Setting, length: int, window: int | None) -> Figures:
    size = setting.size(512, 16)
    attention = SelfAttention(
        attention=MultiHeadAttention(query_size=size, heads=8, dropout=0.0), window=window
    ).to(setting.device)
    inputs = torch.randn(1, length, size, device=setting.device, requires_grad=True)
    setting.forget()
    read = partial(_read_itself, setting, attention, inputs)
    milliseconds = setting.milliseconds(read, repeats=setting.size(5, 1), unmeasured=2)
    return {"milliseconds": milliseconds, "gigabytes": setting.peak_gigabytes()}


def _read_itself(setting: Setting, attention: SelfAttention, inputs: Tensor) -> None:
    with setting.autocast("bf16-mixed"):
        context = attention(inputs, weights=False).context
    context.sum().backward()


def peers(setting: Setting) -> Measurements:
    """Hugging Face's Marian at the size of Transformer base: training and `generate` on the same batches."""
    if find_spec("transformers") is None:
        yield "marian", lambda: {"missing": "transformers is not installed"}
        return
    yield "marian trains, bf16-mixed", partial(_marian_trains, setting)
    yield "marian generates, bf16-mixed", partial(_marian_generates, setting)


def _marian(setting: Setting, length: int) -> Any:
    from transformers import MarianConfig, MarianMTModel

    words, size, layers = setting.size(37_000, 100), setting.size(512, 32), setting.size(6, 1)
    text = vocabulary(words, length + 1)
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("layers", layers), ("attention_heads", 8), ("ffn_dim", 4 * size))
    }
    torch.manual_seed(1)
    marian = MarianMTModel(
        MarianConfig(
            vocab_size=words,
            d_model=size,
            **sides,
            dropout=0.1,
            attention_dropout=0.0,
            activation_dropout=0.0,
            activation_function="relu",
            max_position_embeddings=length + 1,
            pad_token_id=text.pad,
            bos_token_id=text.bos,
            eos_token_id=text.eos,
            decoder_start_token_id=text.bos,
            forced_eos_token_id=None,
            scale_embedding=True,
            share_encoder_decoder_embeddings=True,
            tie_word_embeddings=True,
            attn_implementation="sdpa",
        )
    )
    return marian.to(setting.device)


def _marian_trains(setting: Setting) -> Figures:
    count, length, words = setting.size(64, 4), setting.size(512, 8), setting.size(37_000, 100)
    marian = _marian(setting, length)
    optimizer = torch.optim.Adam(marian.parameters(), lr=2e-4, fused=True)
    source, target = (sentences(setting, count, length + more, words).ids for more in (0, 1))

    def step() -> None:
        with setting.autocast("bf16-mixed"):
            scores = marian(input_ids=source, decoder_input_ids=target[:, :-1], use_cache=False).logits
            loss = torch.nn.functional.cross_entropy(
                scores.flatten(0, 1),
                target[:, 1:].flatten(),
                label_smoothing=0.1,
                ignore_index=marian.config.pad_token_id,
            )
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    setting.forget()
    milliseconds = setting.milliseconds(step, repeats=setting.size(5, 1), unmeasured=2)
    return {
        "milliseconds": milliseconds,
        "tokens_per_second": count * length / milliseconds * 1e3,
        "gigabytes": setting.peak_gigabytes(),
    }


def _marian_generates(setting: Setting) -> Figures:
    count, length, words = setting.size(64, 4), setting.size(30, 5), setting.size(37_000, 100)
    marian, asked = (
        _marian(setting, setting.size(512, 8)).eval(),
        sentences(setting, count, length, words).ids,
    )

    @torch.no_grad()
    def generate() -> None:
        with setting.autocast("bf16-mixed"):
            marian.generate(
                input_ids=asked, num_beams=5, min_new_tokens=length, max_new_tokens=length, do_sample=False
            )

    milliseconds = setting.milliseconds(generate, repeats=setting.size(3, 1), unmeasured=1)
    return {"sentences_per_second": count / milliseconds * 1e3, "milliseconds": milliseconds}


def _seconds(setting: Setting, compute: Callable[[], Any]) -> float:
    return setting.milliseconds(compute, repeats=1, unmeasured=0) / 1e3


def _kernels(setting: Setting, compute: Callable[[], Any]) -> list[list[Any]]:
    """What took the device's time, most of it first: name, milliseconds, calls."""
    from torch.profiler import ProfilerActivity, profile

    on_gpu = setting.device.type == "cuda"
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with profile(activities=activities) as profiled:
        compute()
        setting.wait()
    rows = []
    for event in profiled.key_averages():
        # Of a GPU its kernels alone: what called them counts their time, too.
        # Of the optimiser's step there is a row of its own, beside its kernels.
        if not on_gpu or (str(event.device_type).endswith("CUDA") and "Optimizer.step" not in event.key):
            micros = event.self_device_time_total if on_gpu else event.self_cpu_time_total
            rows.append([event.key[:100], round(micros / 1e3, 3), event.count])
    return sorted(rows, key=lambda row: -row[1])


PARTS: dict[str, Part] = {
    "tests": tests,
    "base": base,
    "models": models,
    "search": search,
    "reading": reading,
    "windows": windows,
    "others": others,
    "peers": peers,
}
