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
        self.rows = None

    def added(self, game):
        self.rows = None

    removed = added

    def begin(self, seed, stream):
        return json.dumps([seed, stream, 0]).encode()

    def sample(self, state, n):
        numbers = json.loads(state)  # seed, stream, draws
        if not isinstance(numbers, list) or [type(x) for x in numbers] != [int] * 3:
            raise ValueError(f"state: {len(state)} bytes, but not three numbers")
        if n == 0:
            return [], state
        if self.rows is None:
            games = list(islice(reversed(self.games), self.newest))
            self.rows = [(g.seq, ply, 1.0) for g in games for ply in g.row_ply]
            self.weights = list(accumulate(w for g in games for w in g.row_weight))
        if not self.rows:
            raise NoRows("the window is empty")
        generator = random.Random(f"{numbers}")  # a new one for each draw keeps the state small
        numbers[2] += 1
        return generator.choices(self.rows, cum_weights=self.weights, k=n), json.dumps(numbers).encode()


if __name__ == "__main__":
    serve(Recent)
