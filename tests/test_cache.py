"""The cache of compiled code: damage is healed with one line, and no other user's folder is used."""

from __future__ import annotations

import importlib.util
import os
import random
import sys
from pathlib import Path

import pytest

from tcpfair import jit
from tcpfair.web import wasm
from tests.commands import succeed

SOURCE = "from tcpfair.jit import jit_cached\n\n@jit_cached\ndef plus(x): return x + {}\n"


def truncate(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size))


def empty(path: Path, _: random.Random) -> None:
    path.write_bytes(b"")


def flip(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    for place in chance.sample(range(len(content)), 3):
        content[place] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def zero(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    start = chance.randrange(len(content) - 1)
    content[start:] = bytes(len(content) - start)
    path.write_bytes(content)


def lengthen(path: Path, _: random.Random) -> None:
    path.write_bytes(path.read_bytes() * 2)


def delete(path: Path, _: random.Random) -> None:
    path.unlink()


def forbid(path: Path, _: random.Random) -> None:
    """A file that cannot be opened, for root either: a link that leads to itself."""
    path.unlink()
    path.symlink_to(path.name)


def replace_by_folder(path: Path, _: random.Random) -> None:
    path.unlink()
    (path / "below").mkdir(parents=True)


DAMAGES = (truncate, empty, flip, zero, lengthen, delete, forbid, replace_by_folder)


def loaded(source: Path):
    """A module with a cached function, as a new process has it."""
    spec = importlib.util.spec_from_file_location(source.stem, source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.plus


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setattr(jit, "folder", tmp_path / "cache")
    path = tmp_path / "source" / "plus.py"
    path.parent.mkdir()
    path.write_text(SOURCE.format(1))
    return path


@pytest.mark.parametrize("seed", range(20))
def test_random_damage_is_healed_with_one_line(seed, source, tmp_path, capsys):
    chance = random.Random(seed)
    first = loaded(source)
    assert (first(1), first(1.5)) == (2, 2.5)  # two signatures
    files = sorted((tmp_path / "cache").iterdir())
    hit, damage = chance.choice(files), DAMAGES[seed % len(DAMAGES)]
    damage(hit, chance)
    healed = loaded(source)
    assert (healed(1), healed(1.5)) == (2, 2.5)
    assert healed.compilations == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == (damage is not delete)
    assert all(str(hit) in line for line in said)
    again = loaded(source)
    assert (again(1), again(1.5)) == (2, 2.5)
    assert not again.compilations
    assert not capsys.readouterr().err


def test_a_damaged_cache_is_no_cache(source, tmp_path, capsys):
    loaded(source)(1)
    assert loaded(source).is_compiled
    empty(next((tmp_path / "cache").iterdir()), random.Random(0))
    assert not loaded(source).is_compiled
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_another_source_in_the_same_folder_makes_it_stale(source):
    loaded(source)(1)
    source.with_name("constants.py").write_text("X = 1\n")
    assert not loaded(source).is_compiled


def test_code_that_cannot_be_written_is_used_all_the_same(source, tmp_path, capsys):
    plus = loaded(source)
    (tmp_path / "cache").write_text("no folder")
    assert plus(1) == 2
    assert "compiled code is not kept" in capsys.readouterr().err


def test_the_wasm_module_is_healed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(jit, "folder", tmp_path)
    monkeypatch.setattr(wasm, "build", lambda: b"\0asm and so on")
    built = wasm.module()
    [kept] = tmp_path.iterdir()
    for damage in DAMAGES:
        damage(kept, random.Random(1))
        assert wasm.module() == built
        assert len(capsys.readouterr().err.splitlines()) == (damage is not delete)
        monkeypatch.setattr(wasm, "build", lambda: pytest.fail("built although it was kept"))
        assert wasm.module() == built
        monkeypatch.setattr(wasm, "build", lambda: b"\0asm and so on")


@pytest.fixture
def without_home(tmp_path, monkeypatch):
    for variable in ("TCPFAIR_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(jit.tempfile, "gettempdir", lambda: str(tmp_path))
    return tmp_path / f"tcpfair-{os.getuid()}"


def test_without_a_home_the_cache_is_below_tmp_and_closed_to_others(without_home):
    assert jit._cache_folder("x") == without_home / "x"
    assert without_home.stat().st_mode & 0o777 == 0o700


def give_away(place: Path) -> None:
    place.mkdir(mode=0o755)
    os.chown(place, 65534, 65534)


def link(place: Path) -> None:
    place.with_name("elsewhere").mkdir()
    place.symlink_to(place.with_name("elsewhere"))


def open_to_all(place: Path) -> None:
    place.mkdir()
    place.chmod(0o777)


@pytest.mark.parametrize("make", [open_to_all, link, give_away])
def test_a_fallback_that_others_could_write_is_not_used(without_home, make):
    if make is give_away and os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    make(without_home)
    assert jit._cache_folder("x") == without_home.with_name(without_home.name + "-1") / "x"


def test_an_unusable_cache_of_the_home_is_passed_over(without_home, tmp_path, monkeypatch):
    (tmp_path / "home").write_text("no folder")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert jit._cache_folder("x") == without_home / "x"


@pytest.mark.slow  # compiles the engine five times
def test_a_damaged_engine_gives_the_same_bits(tmp_path):
    imports = "from tests.engine.scenarios import dumbbell; from tcpfair.library.digest import digest"
    asks = f"{imports}; print(digest(dumbbell({{'rtt_s': 0.05}}), 1))"

    def run() -> tuple[str, str]:
        done = succeed(sys.executable, "-c", asks, TCPFAIR_CACHE=str(tmp_path))
        return done.stdout, done.stderr

    first = run()
    for seed, damage in enumerate((truncate, empty, flip, forbid)):
        chance = random.Random(seed)
        files = sorted(tmp_path.rglob("loop.simulate*.sealed"))
        damage(chance.choice(files), chance)
        digest, said = run()
        assert digest == first[0]
        assert sum("compiled again" in line for line in said.splitlines()) == 1
        assert run() == (first[0], "")
