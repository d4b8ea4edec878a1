"""How long 200 logs of 1,000 samples × 5 epochs take to read and to compare: python benchmarks/log_reading.py [LOGS].

The logs are as inspect_ai 0.3.285 writes them: a zip file compressed by zstd, with a member for each sample. They are
made in a temporary folder, which takes longer than reading them.
"""

from __future__ import annotations

import json
import struct
import sys
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa

import ordbridge as ob

SAMPLES, EPOCHS, MODELS, SECONDS = 1_000, 5, 2, 20


def add(archive: tuple[bytearray, bytearray], name: str, content: bytes) -> None:
    """Add a member compressed by zstd, which zipfile does not write, to the body and the directory of a zip file."""
    body, directory = archive
    raw = pa.compress(content, codec="zstd", asbytes=True)
    shared = struct.pack("<HHHHHIIIHH", 45, 0, 93, 0, 33, zlib.crc32(content), len(raw), len(content), len(name), 0)
    directory += struct.pack("<IH", 0x02014B50, 45) + shared + struct.pack("<HHHII", 0, 0, 0, 0, len(body))
    directory += name.encode()
    body += struct.pack("<I", 0x04034B50) + shared + name.encode() + raw


def whole(archive: tuple[bytearray, bytearray], n: int) -> bytes:
    """Return the zip file of n members."""
    body, directory = archive
    return bytes(body + directory + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, n, n, len(directory), len(body), 0))


def summary(sample: int, epoch: int, right: bool) -> dict[str, object]:
    usage = {"input_tokens": 900, "output_tokens": 300, "total_tokens": 1200}
    return {
        "id": f"question-{sample:04d}", "epoch": epoch, "input": f"Question {sample}: " + "some words " * 20,
        "target": "right", "metadata": {"passage": f"p{sample // 5}"},
        "scores": {"exact": {"value": "C" if right else "I", "answer": "an answer " * 6, "history": []}},
        "model_usage": {"made/model": usage}, "role_usage": {}, "started_at": "2026-11-18T08:01:40.300087+00:00",
        "completed_at": "2026-11-18T08:01:40.330286+00:00", "total_time": 0.03, "working_time": 0.026,
        "uuid": f"{sample:011d}{epoch:011d}", "retries": 0, "completed": True, "message_count": 3, "turn_count": 1,
    }  # fmt: skip


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    rng = np.random.default_rng(1)
    samples = (bytearray(), bytearray())  # the same in every log, and never read
    for place in range(SAMPLES * EPOCHS):
        name = f"samples/question-{place % SAMPLES:04d}_epoch_{place // SAMPLES + 1}.json"
        add(samples, name, json.dumps({"messages": ["text"] * 20}).encode())
    with tempfile.TemporaryDirectory() as folder:
        for place in range(number):
            task, model = divmod(place, MODELS)
            right = rng.random((EPOCHS, SAMPLES)) < 0.6
            rows = [summary(s, e + 1, bool(right[e, s])) for e in range(EPOCHS) for s in range(SAMPLES)]
            about = {"task": f"task{task:03d}", "task_id": str(place), "model": f"made/model-{'ab'[model]}"}
            archive = (bytearray(samples[0]), bytearray(samples[1]))
            add(archive, "summaries.json", json.dumps(rows).encode())
            add(archive, "header.json", json.dumps({"version": 2, "status": "success", "eval": about}).encode())
            (Path(folder) / f"{place:03d}.eval").write_bytes(whole(archive, SAMPLES * EPOCHS + 2))
        start, worked = time.perf_counter(), time.process_time()
        table = ob.logs.read(folder)
        read, worked = time.perf_counter() - start, time.process_time() - worked
        found = ob.logs.compare(table)
        both = time.perf_counter() - start
    print(f"{number} logs, {table.num_rows:,} answers: read in {read:.1f} s ({worked:.1f} s of processor time)")
    print(f"compared in {both - read:.1f} s")
    false = sum(better is not None for better in found.pairs["better"].to_pylist())
    print(f"false differences, Holm over {found.pairs.num_rows} tasks: {false}")
    if number == 200:
        print(f"under {SECONDS} s of processor time:", "yes" if worked < SECONDS else "NO")


if __name__ == "__main__":
    main()
