"""Packs the library as PyPI publishes it: a wheel and a source distribution, in the folder that is the argument.

Needs what `npm run build` leaves in dist/clients, and the packages of requirements.txt.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        staged = Path(folder)
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(HERE / name, staged)
        shutil.copy(HERE / "../../LICENSE", staged)
        package = staged / "src/darkroom_client"
        shutil.copytree(HERE / "src/darkroom_client", package, ignore=shutil.ignore_patterns("__pycache__", "types.py"))
        subprocess.run([sys.executable, str(HERE / "generate.py"), str(package)], check=True)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1735689600"}
        command = [sys.executable, "-m", "hatchling", "build", "-d", str(target.resolve())]
        subprocess.run(command, cwd=staged, env=environment, check=True)


main(Path(sys.argv[1]))
