"""Memory of the real server process over many distinct texts, each asked for once."""

import argparse
import http.client
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rnnlens.run.folder import BUNDLED, run_at

CLIENTS = 4  # that ask at once, so that the server is never idle
BOUND = 150  # MB that it may grow after the first texts


def resident(process: int) -> float:
    """Megabytes of memory that a process holds."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def ask(port: int, texts: Sequence[str]) -> None:
    """Ask for the grids of some texts over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for text in texts:
        body = json.dumps({"text": text})
        connection.request("POST", "/api/grid", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert (answer.read(), answer.status)[1] == http.client.OK, answer.status
    connection.close()


def main() -> None:
    """Print the server's size as it answers; growth beyond the bound fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=50_000)
    parser.add_argument("--words", type=int, default=3, help="of each text (default: 3)")
    parser.add_argument("--run", default=BUNDLED, help="a run folder (default: the bundled one)")
    args = parser.parse_args()
    words = [label for label in run_at(args.run).vocabulary().labels if label.isalnum()]
    choose = random.Random(0)
    texts = list({" ".join(choose.choices(words, k=args.words)) for _ in range(args.texts * 2)})
    stops = [n for n in (1_000, 2_000, 5_000, 10_000, 20_000, 50_000) if n < args.texts]
    sizes, done = [], 0
    command = [sys.executable, "-m", "rnnlens", "view", args.run, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        port = int(process.stdout.readline().split("http://127.0.0.1:")[1].split("/")[0])
        try:
            with ThreadPoolExecutor(CLIENTS) as pool:
                for stop in [*stops, args.texts]:
                    some = texts[done:stop]
                    shares = [some[k::CLIENTS] for k in range(CLIENTS)]
                    list(pool.map(ask, [port] * CLIENTS, shares))
                    done = stop
                    sizes.append(resident(process.pid))
                    print(f"after {stop:6,} texts: {sizes[-1]:5,.0f} MB", flush=True)
        finally:
            process.terminate()
    grown = max(sizes) - sizes[0]
    print(f"  grown by {grown:.0f} MB (at most {BOUND} are wanted)")
    sys.exit(grown > BOUND)


if __name__ == "__main__":
    main()
