#!/usr/bin/env -S python3 -B
"""A sampler: rows of the newest games only."""

import json
import random
from itertools import accumulate, islice

from chessbrain_plugin import NoRows, Sampler, Setting, serve


class Recent(Sampler):
    name = "recent"
    version = "1.0.0"
    doc = "draws rows of the newest games, each in proportion to its weight"
    capabilities = ["deterministic"]
    settings = [Setting(name="games", doc="how many games are the newest", default_value="1000", min=1, max=1e6, whole=True)]

    def __init__(self, settings):
        self.newest = settings["games"]
        self.state = [0, 0, 0]  # seed, stream, draws
        self.rows = None

    def added(self, game):
        self.rows = None

    removed = added

    def sample(self, n):
        if self.rows is None:
            games = list(islice(reversed(self.games), self.newest))
            self.rows = [(g.seq, ply, 1.0) for g in games for ply in g.row_ply]
            self.weights = list(accumulate(w for g in games for w in g.row_weight))
        if not self.rows:
            raise NoRows("the window is empty")
        generator = random.Random(f"{self.state}")  # a new one for each draw keeps the state small
        self.state[2] += 1
        return generator.choices(self.rows, cum_weights=self.weights, k=n)

    def seed(self, seed, stream):
        self.state = [seed, stream, 0]

    def save(self):
        return json.dumps(self.state).encode()

    def load(self, data, version):
        state = json.loads(data)
        if version != 1 or not isinstance(state, list) or [type(x) for x in state] != [int] * 3:
            raise ValueError(f"version {version}, {len(data)} bytes: not one of version 1")
        self.state = state


if __name__ == "__main__":
    serve(Recent)
