"""Which part may know which: imports run one way, and some things have one home."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
SOURCES = sorted([*PROJECT.glob("zoo/**/*.py"), *PROJECT.glob("data/**/*.py"), PROJECT / "train.py"])
STANDARD = {
    "abc",
    "collections",
    "contextlib",
    "dataclasses",
    "functools",
    "inspect",
    "itertools",
    "math",
    "typing",
    "enum",
    "os",
    "warnings",
}

LAYERS = (
    "zoo.kernels",
    "zoo.core",
    "zoo.runtime",
    "zoo.attention",
    "zoo.decoding",
    "zoo.networks",
    "zoo.metrics",
    "zoo.figures",
    "zoo.training",
    "zoo.loggers",
    "zoo.tasks",
    "zoo.runs",
    "zoo.config",
    "zoo.sweeps",
    "zoo.reports",
    "zoo.inference",
    "zoo.cli",
)
"""Lowest first: a package imports itself and those before it."""

# Of some packages it is less. The longest matching prefix decides, for modules of the project and for others
# (None: anything).
MAY_IMPORT: dict[str, tuple[set[str], set[str] | None]] = {
    **{layer: (set(LAYERS[: place + 1]), None) for place, layer in enumerate(LAYERS)},
    "zoo": ({"zoo.config", "zoo.inference"}, {"typing"}),
    "zoo.__main__": ({"zoo"}, None),
    "zoo.kernels": ({"zoo.kernels"}, {"torch"}),
    "zoo.kernels.cross_entropy_rows": ({"zoo.kernels"}, {"torch", "triton"}),  # torch brings it for GPUs
    "zoo.attention": ({"zoo.attention", "zoo.kernels"}, {"torch"}),
    "zoo.decoding": ({"zoo.decoding", "zoo.attention", "zoo.kernels"}, {"torch"}),
    "zoo.networks": (
        {"zoo.networks", "zoo.attention", "zoo.decoding", "zoo.kernels"}
        | {"zoo.runtime.compiling", "zoo.core.batch", "zoo.core.spec"},
        {"torch"},
    ),
    "zoo.networks.encoders": (
        {"zoo.networks", "zoo.runtime.compiling"},
        {"torch", "torchvision", "hashlib", "http", "logging", "pathlib"},
    ),
    "zoo.figures": ({"zoo.figures"}, None),
    "data": (
        {
            "data",
            *(
                f"zoo.core.{name}"
                for name in (
                    "batch",
                    "overlap",
                    "problems",
                    "reading",
                    "spec",
                    "text",
                    "image",
                    "bit_sequences",
                )
            ),
        }
        | {"zoo.core.sentences", "zoo.core.word_vectors"}
        | {f"zoo.tasks.{path.parent.name}.batch" for path in PROJECT.glob("zoo/tasks/*/batch.py")},
        None,
    ),
    "data.text.of_run": ({"data.text", "zoo.core.spec", "zoo.training.checkpoint"}, None),  # reads a run
    "train": ({"zoo", "data"}, None),
}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    parts = path.relative_to(PROJECT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


@cache
def imports(path: Path) -> list[tuple[int, str]]:
    return list(imported(path))


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Every absolute module that a file imports, also inside functions."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            assert node.module is not None
            # `from zoo import batch` means zoo.core.batch.
            names = (
                [f"{node.module}.{alias.name}" for alias in node.names]
                if node.module in ("zoo", "data")
                else []
            )
            yield from ((node.lineno, name) for name in names or [node.module])


def within(module: str, packages: set[str]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def forbidden(path: Path) -> list[str]:
    name = name_of(path)
    rule = max((prefix for prefix in MAY_IMPORT if within(name, {prefix})), key=len)
    own, others = MAY_IMPORT[rule]
    found = []
    for line, module in imports(path):
        if within(module, {"zoo", "data", "train", "tests"}):
            allowed = within(module, own)
        else:
            top = module.partition(".")[0]
            allowed = others is None or top in others | STANDARD
        if not allowed:
            found.append(f"{name}:{line} imports {module}")
    return found


def test_imports_run_one_way() -> None:
    assert [found for path in SOURCES for found in forbidden(path)] == []


def test_the_rules_see_something() -> None:
    """Every rule speaks of modules that exist, or it would hold for nothing."""
    names = {name_of(path) for path in SOURCES}
    for prefix in MAY_IMPORT:
        assert any(within(name, {prefix}) for name in names), prefix


TASKS = [path.parent.name for path in PROJECT.glob("zoo/tasks/*/task.py")]


def test_nothing_outside_its_room_imports_a_task() -> None:
    """What others need of a task, it says itself; also what tasks share, and other tasks."""
    rooms = {f"zoo.tasks.{name}" for name in TASKS}
    found = []
    for name, path in ((name_of(path), path) for path in SOURCES):
        others = {room for room in rooms if not within(name, {room})}
        if not name.startswith("data"):
            found += [
                f"{name}:{line} imports {module}" for line, module in imports(path) if within(module, others)
            ]
    assert found == []


def test_every_room_has_its_place_in_the_order() -> None:
    packages = {f"zoo.{path.parent.name}" for path in PROJECT.glob("zoo/*/__init__.py")}
    assert packages == set(LAYERS)
    assert {path.stem for path in PROJECT.glob("zoo/*.py")} == {"__init__", "__main__"}
    assert {path.stem for path in PROJECT.glob("data/*.py")} == {"__init__"}


def reaches_instantiate(module: ast.Module) -> bool:
    """Whether a module could call Hydra's `instantiate`, by whatever name."""
    for node in ast.walk(module):
        match node:
            case ast.Attribute(attr="instantiate"):
                return True
            case ast.ImportFrom(module="hydra.utils" | "hydra._internal.instantiate"):
                return True
            case ast.ImportFrom(module="hydra", names=names) if any(one.name == "utils" for one in names):
                return True
            case ast.Import(names=names) if any(one.name.startswith("hydra.utils") for one in names):
                return True
    return False


def test_no_module_reaches_hydras_instantiate() -> None:
    """It would build anything; `zoo.config.instantiate` builds what `zoo.config.allowed` lets pass."""
    assert [name_of(path) for path in SOURCES if reaches_instantiate(parsed(path))] == []


@pytest.mark.parametrize(
    "source",
    [
        "from hydra import utils",
        "from hydra import compose, utils as other",
        "import hydra.utils",
        "import hydra.utils as other",
        "from hydra.utils import instantiate as build",
        "import hydra\nhydra.utils.instantiate({})",
    ],
)
def test_no_other_name_for_it_is_overlooked(source: str) -> None:
    assert reaches_instantiate(ast.parse(source))
    harmless = "from hydra import compose\nimport hydra\nfrom zoo import utils"
    assert not reaches_instantiate(ast.parse(harmless))


def large_numbers(module: ast.Module) -> list[float]:
    """Large numbers with a decimal point or an exponent, and large negative ones."""
    found = []
    for node in ast.walk(module):
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                found.append(-value)
            case ast.Constant(value=float() as value):
                found.append(value)
    return [number for number in found if 1e4 < number < float("inf") or float("-inf") < number <= -1e4]


def test_masks_are_logic_not_large_numbers() -> None:
    of_zoo = [path for path in SOURCES if name_of(path).startswith("zoo")]
    assert [(name_of(path), number) for path in of_zoo for number in large_numbers(parsed(path))] == []


def test_no_spelling_of_a_large_number_is_overlooked() -> None:
    for text in ("-10000", "-1e4", "-1e9", "x - 1e5", "1e9", "x.masked_fill(m, -65504)"):
        assert large_numbers(ast.parse(text)), text
    for text in ("-1", "2**16", "100_000", "-9999", "float('-inf')", "1e-9", "-math.inf"):
        assert not large_numbers(ast.parse(text)), text


def test_train_is_short() -> None:
    assert len((PROJECT / "train.py").read_text(encoding="utf-8").splitlines()) <= 150


def test_the_allocator_is_told_before_torch_is_imported() -> None:
    tree = parsed(PROJECT / "train.py")
    runtime = ("memory_allocator", "interrupts", "first_words")
    light = {"zoo", *(f"zoo.runtime.{name}" for name in runtime)}
    *first, memory, interrupts, _ = tree.body[1:7]
    assert all(isinstance(line, ast.ImportFrom) and line.module in light for line in first)
    assert ast.unparse(memory) == "prepare_memory()"
    assert ast.unparse(interrupts).startswith("end_at_once(")
    for path in SOURCES:
        if name_of(path) in light:
            top_level = parsed(path).body
            modules = {
                alias.name for node in top_level if isinstance(node, ast.Import) for alias in node.names
            }
            modules |= {str(node.module) for node in top_level if isinstance(node, ast.ImportFrom)}
            assert not {
                module for module in modules if module.partition(".")[0] in ("torch", "lightning", "zoo")
            }
