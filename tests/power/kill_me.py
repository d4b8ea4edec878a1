"""A run to be killed: ``python kill_me.py FOLDER SIMS``, with workers that need no R."""

import sys

import stub

from ordbridge.power import Grid, api
from ordbridge.power.runner import execute

if __name__ == "__main__":
    grid = Grid(preset="howcroft2021", variance="low", items=[20, 30], ratings_per_text=3, effect=[0, 0.62])
    api.execute = lambda *arguments: execute(*arguments[:-1], stub.slow)  # instead of the work of a real worker
    print("running", flush=True)
    api.run(grid, ["lm", "clm"], datasets=int(sys.argv[2]), seed=7, jobs=2, store=sys.argv[1])
    print("done", flush=True)
