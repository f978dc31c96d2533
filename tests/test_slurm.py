"""Batch scripts: run with stand-ins for Slurm's commands, they start what they should."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent / "experiments" / "slurm"


@pytest.mark.parametrize(
    ("script", "arguments", "expected"),
    [
        (
            "train.sbatch",
            ["europarl/window", "--set", "optimizer.batches=16"],
            [
                "srun torchrun --nnodes 2 --nproc-per-node 8 --max-restarts 10 --rdzv-backend c10d "
                "--rdzv-endpoint node-1:29500 --rdzv-id 77 -m fenster train europarl/window "
                "--set optimizer.batches=16"
            ],
        ),
        (
            "translate.sbatch",
            ["corpus/", "-o", "german/"],
            [
                "srun --nodes=1 --ntasks=1 --nodelist=node-1 ray start --head --port=6379 --block",
                "srun --nodes=1 --ntasks=1 --exclude=node-1 ray start --address=node-1:6379 --block",
                "fenster translate corpus/ -o german/ --ray node-1:6379 --device cuda",
            ],
        ),
    ],
)
def test_a_dry_run(script: str, arguments: list[str], expected: list[str], tmp_path: Path) -> None:
    for name in ("srun", "fenster", "sleep"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@" >> "{tmp_path}/log"\n')
    (tmp_path / "scontrol").write_text("#!/bin/sh\nprintf 'node-1\\nnode-2\\n'\n")
    for path in tmp_path.iterdir():
        path.chmod(0o755)
    slurm = {"SLURM_JOB_NODELIST": "node-[1-2]", "SLURM_NNODES": "2", "SLURM_GPUS_ON_NODE": "8", "SLURM_JOB_ID": "77"}
    slurm["SLURM_CPUS_PER_TASK"] = "32"
    environment = {**os.environ, **slurm, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["bash", str(SCRIPTS / script), *arguments], env=environment, check=True, timeout=60)
    log = (tmp_path / "log").read_text().splitlines()
    started = sorted(line for line in log if not line.startswith("sleep"))
    assert started == sorted(expected)
