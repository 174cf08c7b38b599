"""Build the sdist and the wheel, and check that both are what they should be.

``python tools/build.py FOLDER`` builds from the working tree into the folder, then once more from
the unpacked sdist, elsewhere, under another time zone and file mask: the files must be the same
to the byte. The wheel must hold the package, its data and licences, and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "edgewise"
#: Written beside the sources by Python and numba; of no use on another machine.
CACHES = {".pyc", ".nbi", ".nbc"}


def build(source: Path, target: Path, umask: int = 0o022, zone: str = "UTC") -> dict[str, str]:
    """Build both files into ``target``; return the SHA-256 of each by name."""
    # Without it, the time in the archives is hatchling's own and the same everywhere.
    environment = {name: os.environ[name] for name in os.environ if name != "SOURCE_DATE_EPOCH"}
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(target.resolve())],
        cwd=source,
        env={**environment, "TZ": zone},
        umask=umask,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in target.iterdir()}


def build_again(sdist: Path) -> dict[str, str]:
    """Build from the unpacked sdist; return the SHA-256 of each file by name."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        (source,) = Path(folder).iterdir()
        # Made by the build; the working tree has none.
        (source / "PKG-INFO").unlink()
        return build(source, Path(folder) / "again", umask=0o077, zone="Asia/Tokyo")


def check_contents(wheel: Path) -> None:
    """Stop unless the wheel holds exactly the files of the package and its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    metadata = {name for name in names if ".dist-info/" in name}
    wanted = {
        f"edgewise/{path.relative_to(PACKAGE).as_posix()}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in CACHES
    }
    if wrong := sorted((names - metadata) ^ wanted):
        raise SystemExit(f"{wheel.name} and {PACKAGE} differ in: " + ", ".join(wrong))
    licences = {Path(name).name for name in metadata if "/licenses/" in name}
    wanted = {path.name for path in (ROOT / "LICENSE", *PACKAGE.rglob("LICENSE*"))}
    if missing := sorted(wanted - licences):
        raise SystemExit(f"{wheel.name} lacks the licences " + ", ".join(missing))


def main() -> None:
    """Build, build again, compare, look inside."""
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for old in target.iterdir():
        old.unlink()
    first = build(ROOT, target)
    (sdist,) = target.glob("*.tar.gz")
    (wheel,) = target.glob("*.whl")
    again = build_again(sdist)
    if first != again:
        raise SystemExit(f"Not reproducible: {first} from the tree, {again} from the sdist.")
    check_contents(wheel)
    for name, digest in sorted(first.items()):
        sys.stdout.write(f"{digest}  {target / name}\n")


if __name__ == "__main__":
    main()
