"""Writes the types of the library from the OpenAPI document that `npm run build` leaves in dist/clients.

The argument is the folder of the package, that of the repository when it is absent. Needs datamodel-code-generator: see
requirements.txt. The types are in the repository, so that pip can install the library from a checkout.
"""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCUMENT = HERE / "../../dist/clients/schemas.json"
OPTIONS = [
    "--input-file-type", "openapi", "--output-model-type", "typing.TypedDict", "--target-python-version", "3.10",
    "--use-schema-description", "--use-field-description", "--use-union-operator", "--formatters", "black", "isort",
    "--custom-file-header", '"""The objects of the API, generated from its OpenAPI document."""',
]
EXTENSIONS = "from typing_extensions import NotRequired\n"
# The standard library has it from 3.11 on.
EITHER = """import sys

if sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    from typing_extensions import NotRequired
"""


def main(package: Path) -> None:
    target = package / "types.py"
    command = [sys.executable, "-m", "datamodel_code_generator", "--input", str(DOCUMENT), "--output", str(target), *OPTIONS]
    subprocess.run(command, check=True)
    text = target.read_text("utf-8")
    if EXTENSIONS not in text:
        raise SystemExit("The generator imports something else now.")
    digest = json.loads(DOCUMENT.read_text("utf-8"))["x-sha256"]
    made = text.replace(EXTENSIONS, EITHER)
    target.write_text(f"{made.rstrip()}\n\n# Of schemas with the SHA-256 {digest}.\n", "utf-8")


main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "src/darkroom_client")
