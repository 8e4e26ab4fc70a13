#!/usr/bin/env -S python3 -B
"""A rescorer: positions whose game is decided weigh less in training."""

from chessbrain_plugin import ROOT_Q, Rescorer, Setting, serve


class Decided(Rescorer):
    name = "decided"
    version = "1.0.0"
    doc = "positions of a game that is decided weigh less in training"
    capabilities = ["deterministic"]
    settings = [
        Setting(name="threshold", doc="|Q| of the search's root from which on a game is decided", default_value="0.9", min=0, max=1),
        Setting(name="factor", doc="of the weight of such a position", default_value="0.25", min=0, max=1),
    ]

    def __init__(self, settings):
        self.threshold = settings["threshold"]
        self.factor = settings["factor"]

    def rescore(self, game):
        # One Q a ply; a Q that is not known is NaN, and NaN >= x is false.
        decided = [abs(q) >= self.threshold for q in game.values[ROOT_Q::12]]
        if not any(decided):
            return None
        return {"weights": [w * self.factor if d else w for w, d in zip(game.weights, decided)]}


if __name__ == "__main__":
    serve(Decided)
