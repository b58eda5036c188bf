"""Whatever lies in the cache folder, a run says what it says without: a bad entry is a miss."""

from __future__ import annotations

import json
import os
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from cached_runs import Runs, runs

__all__ = ["runs"]


class Bomb:
    """Unpickling this makes the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.folder),)


def signed(told: object) -> bytes:
    data = json.dumps(told).encode()
    return b"%08x " % crc32(data) + data


def resigned(change: Callable[[dict[str, Any]], object], line: int = 0) -> Callable[[bytes], bytes]:
    """One of the documents changed, with a checksum that fits."""

    def damage(data: bytes) -> bytes:
        lines = data.split(b"\n")
        told = json.loads(lines[line][9:])
        change(told)
        lines[line] = signed(told)
        return b"\n".join(lines)

    return damage


def nested(depth: int) -> bytes:
    data = b'{"format":"2","stamps":' + b"[" * depth + b"]" * depth + b"}"
    return b"%08x " % crc32(data) + data


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "without its end": lambda data: data[:-1],
    "without its second part": lambda data: data.partition(b"\n")[0],
    "second part truncated": lambda data: data[:-40],
    "second part empty": lambda data: data.partition(b"\n")[0] + b"\n" + signed({}),
    "random": lambda data: random.Random(5).randbytes(len(data)),
    "zeros": lambda data: bytes(len(data)),
    "a page of zeros": lambda data: data[:100] + bytes(4096) + data[4196:],
    "twice": lambda data: data + data,
    "a list": lambda data: signed([]),
    "a number": lambda data: signed(5),
    "no fields": lambda data: signed({}),
    "nested": lambda data: nested(100_000),
    "another format": resigned(lambda told: told.update(format="1")),
    "a newer format": resigned(lambda told: told.update(format="999", stamps=None)),
    "paths that are numbers": resigned(lambda told: told["stamps"].__setitem__(0, [0, 1, 2])),
    "times that are texts": resigned(
        lambda told: told["stamps"].__setitem__(1, ["x"] * len(told["stamps"][1]))
    ),
    "huge times": resigned(lambda told: told["stamps"].__setitem__(1, [10**400] * len(told["stamps"][1]))),
    "a column too short": resigned(lambda told: told["stamps"][2].pop()),
    "roles that are none": resigned(
        lambda told: told["stamps"].__setitem__(4, ["x"] * len(told["stamps"][4]))
    ),
    "roles that are fractions": resigned(
        lambda told: told["stamps"].__setitem__(4, [1.5] * len(told["stamps"][4]))
    ),
    "folders that are numbers": resigned(lambda told: told.update(folders=[[3, 3]])),
    "entries without fields": resigned(lambda told: told.update(entries=[[]])),
    "findings of another kind": resigned(
        lambda told: [entry.__setitem__(3, [[1]]) for entry in told["entries"]]
    ),
    "findings that are words": resigned(
        lambda told: [entry.__setitem__(3, "words") for entry in told["entries"]]
    ),
    "roots that lead nowhere": resigned(
        lambda told: [entry.__setitem__(5, 10**9) for entry in told["entries"]]
    ),
    "rules of another kind": resigned(lambda told: told.update(rules=[["GRD101"]])),
    "texts that are numbers": resigned(lambda told: told.update(texts=[1] * len(told["texts"])), 1),
    "glimpses of another kind": resigned(lambda told: told.update(glimpses=[[1, 2, 3, 4, 5, 6]]), 1),
    "glimpses of numbers": resigned(lambda told: told.update(glimpses=[1, 2, 3]), 1),
    "lookups that are words": resigned(lambda told: told.update(lookups=["a", "b", "c"]), 1),
    "facets of files that are none": resigned(lambda told: told.update(outlined=[[0]]), 1),
    "glimpses that are none": resigned(lambda told: told.update(glimpses=None), 1),
    "texts left out": resigned(lambda told: told.update(texts=told["texts"][:1]), 1),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_bad_entry_is_a_miss(runs: Runs, name: str) -> None:
    good = runs.check()
    [manifest] = runs.manifests
    manifest.write_bytes(DAMAGES[name](manifest.read_bytes()))
    assert runs.check() == good
    # What is learned from here on must be of use again.
    (runs.folder / "pkg/guards.py").write_text("import torch\n\nquiet = torch.enable_grad\n")
    changed = runs.check()
    assert changed == runs.fresh() != good
    assert (runs.check(), runs.analysed) == (changed, [])


def test_any_byte_may_be_another(runs: Runs) -> None:
    good = runs.check()
    [manifest] = runs.manifests
    data = manifest.read_bytes()
    chance = random.Random(11)
    for _ in range(25):
        place = chance.randrange(len(data))
        manifest.write_bytes(
            data[:place] + bytes([data[place] ^ chance.randrange(1, 256)]) + data[place + 1 :]
        )
        assert runs.check() == good, place


def test_an_entry_runs_no_code(runs: Runs, tmp_path: Path) -> None:
    good = runs.check()
    [manifest] = runs.manifests
    bomb = pickle.dumps(Bomb(tmp_path / "went off"))
    head, _, details = manifest.read_bytes().partition(b"\n")
    sum_of_bomb = b"%08x " % crc32(bomb)
    for data in (
        bomb,
        sum_of_bomb + bomb,
        head + b"\n" + bomb,
        head + b"\n" + sum_of_bomb + bomb,
        bomb + details,
    ):
        manifest.write_bytes(data)
        assert runs.check() == good
        (runs.folder / "lone.py").touch()
        assert runs.check() == good
    assert not (tmp_path / "went off").exists()
    pickle.loads(bomb)
    assert (tmp_path / "went off").exists()


def test_a_folder_in_place_of_an_entry(runs: Runs) -> None:
    good = runs.check()
    [manifest] = runs.manifests
    manifest.unlink()
    (manifest / "inner").mkdir(parents=True)
    assert runs.check() == good
    assert runs.check() == good
    assert (manifest / "inner").is_dir()
    assert runs.manifests == [manifest]


def test_a_link_to_nowhere_in_place_of_an_entry(runs: Runs) -> None:
    good = runs.check()
    [manifest] = runs.manifests
    manifest.unlink()
    manifest.symlink_to(runs.folder / "nowhere")
    assert runs.check() == good
    assert not (runs.folder / "nowhere").exists()
    assert (runs.check(), runs.analysed) == (good, [])


def test_the_entry_of_another_folder(runs: Runs) -> None:
    """The same name, well formed, about other files."""
    good = runs.check()
    [manifest] = runs.manifests
    data = manifest.read_bytes().replace(str(runs.folder).encode(), b"/nowhere/at/all")
    manifest.write_bytes(b"\n".join(b"%08x " % crc32(line[9:]) + line[9:] for line in data.split(b"\n")))
    assert runs.check() == good
    assert "train.py" in runs.analysed
    assert b"/nowhere/at/all/train.py" not in manifest.read_bytes()
