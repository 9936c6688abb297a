"""Assemble the page's kernels: engine/kernels.wat into engine/assembled.js, for browsers to run.

    python scripts/kernels.py

It needs the assembler of package.json, which `make test` installs.
"""

import base64
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
ENGINE = ROOT / "src/rnnlens/page/web/engine"
ASSEMBLER = ROOT / "node_modules/.bin/wat2wasm"
SHIPPED = ENGINE / "assembled.js"


def assembled() -> str:
    """The module that is shipped: what the assembler makes of the kernels, in base64."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "kernels.wasm"
        command = [str(ASSEMBLER), str(ENGINE / "kernels.wat"), "-o", str(output)]
        subprocess.run(command, check=True, timeout=120)
        code = base64.b64encode(output.read_bytes()).decode()
    return (
        "// kernels.wat as a browser runs it, in base64. Written by scripts/kernels.py.\n\n"
        f'export const ASSEMBLED = "{code}";\n'
    )


if __name__ == "__main__":
    SHIPPED.write_text(assembled(), encoding="utf-8")
    print(f"{SHIPPED.relative_to(ROOT)}: {SHIPPED.stat().st_size:,} bytes")
