"""Small logs of each harness, written by hand as the harness writes them."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa


def packed(members: dict[str, Any], method: int = 93) -> bytes:
    """Return a zip file of JSON; method 93 is zstd, which Python's zipfile does not write, 8 is deflate."""
    body, directory = bytearray(), bytearray()
    for name, value in members.items():
        content = json.dumps(value).encode()
        if method == 93:
            raw = pa.compress(content, codec="zstd", asbytes=True)
        else:
            deflate = zlib.compressobj(wbits=-15)
            raw = deflate.compress(content) + deflate.flush()
        shared = struct.pack(
            "<HHHHHIIIHH", 45, 0, method, 0, 33, zlib.crc32(content), len(raw), len(content), len(name), 0
        )
        directory += struct.pack("<IH", 0x02014B50, 45) + shared + struct.pack("<HHHII", 0, 0, 0, 0, len(body))
        directory += name.encode()
        body += struct.pack("<I", 0x04034B50) + shared + name.encode() + raw
    n = len(members)
    return bytes(body + directory + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, n, n, len(directory), len(body), 0))


def sample(name: Any, epoch: int, scores: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return one sample with scores as values, or as whole scores."""
    full = {scorer: one if isinstance(one, dict) else {"value": one} for scorer, one in scores.items()}
    return {"id": name, "epoch": epoch, "input": f"Question {name}", "target": "right", "scores": full, **more}


def header(model: str, task: str = "sums", status: str = "success", **more: Any) -> dict[str, Any]:
    about = {"task": task, "task_id": "t1", "model": model, "packages": {"inspect_ai": "0.3.285"}, **more}
    return {"version": 2, "status": status, "eval": about}


def eval_file(path: Path, head: dict[str, Any], samples: list[dict[str, Any]], method: int = 93) -> Path:
    """Write a finished ``.eval``."""
    members = {f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in samples}
    path.write_bytes(packed({**members, "summaries.json": samples, "header.json": head}, method))
    return path


def interrupted(path: Path, head: dict[str, Any], samples: list[dict[str, Any]]) -> Path:
    """Write an ``.eval`` of a run that was stopped: a journal only."""
    half = len(samples) // 2
    parts = {"_journal/summaries/2.json": samples[half:], "_journal/summaries/1.json": samples[:half]}
    start = {name: value for name, value in head.items() if name != "status"}
    path.write_bytes(packed({"_journal/start.json": start, **parts}))
    return path


def inspect_json(path: Path, head: dict[str, Any], samples: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps({**head, "samples": samples}, indent=2))
    return path


def lm_eval(folder: Path, model: str, lines: list[dict[str, Any]], task: str = "qa", **results: Any) -> Path:
    """Write results and samples of one model as lm-evaluation-harness does."""
    date = "2026-11-18T08-01-52.583870"
    inside = folder / model.replace("/", "__")
    inside.mkdir(parents=True)
    (inside / f"results_{date}.json").write_text(json.dumps({"results": {task: {}}, "model_name": model, **results}))
    (inside / f"samples_{task}_{date}.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    return inside


def doc(number: int, filtered: str = "none", text: str = "", **metrics: float) -> dict[str, Any]:
    return {
        "doc_id": number, "doc": {"id": number, "q": text or f"question {number}"}, "target": "x", "resps": [["x"]],
        "filtered_resps": ["x"], "filter": filtered, "metrics": list(metrics), "doc_hash": f"hash {text or number}",
        **metrics,
    }  # fmt: skip


def promptfoo(path: Path, rows: list[dict[str, Any]]) -> Path:
    inside = {"version": 3, "timestamp": "2026-11-18", "prompts": [], "results": rows}
    path.write_text(json.dumps({"evalId": "eval-x", "results": inside, "metadata": {"promptfooVersion": "0.121.20"}}))
    return path


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return path


def two_models(folder: Path, right: dict[str, list[list[int]]], task: str = "sums") -> Path:
    """Write a log for each model: a list of epochs for each item."""
    for place, (model, items) in enumerate(right.items()):
        rows = [
            sample(f"q{number}", epoch + 1, {"exact": "C" if one else "I"})
            for number, answers in enumerate(items)
            for epoch, one in enumerate(answers)
        ]
        eval_file(folder / f"{place}_{task}.eval", header(model, task), rows)
    return folder
