#!/usr/bin/env -S python3 -B
"""An exporter: what a net is and what it was made from, as JSON."""

import array
import json
import math
import sys

from chessbrain_plugin import Exporter, serve


class Summary(Exporter):
    name = "summary"
    version = "1.0.0"
    doc = "writes the root mean square of each tensor, and the results of the window's games, as JSON"
    capabilities = ["deterministic", "needs-games"]

    def export(self, checkpoint):
        if checkpoint.games is None:
            raise RuntimeError("there are no games to count: export from a run with a training window")
        tensors = []
        for name, shape, data in checkpoint.tensors:
            values = array.array("f", bytes(data))
            if sys.byteorder == "big":
                values.byteswap()
            rms = math.sqrt(math.fsum(x * x for x in values) / max(1, len(values)))
            tensors.append({"name": name, "shape": shape, "rms": rms})
        results = {"-1": 0, "0": 0, "1": 0}
        for game in checkpoint.games:
            results[str(game.white_result)] += 1
        header = checkpoint.header
        text = json.dumps({"net": header.name, "step": header.step, "tensors": tensors, "white_results": results}, indent=1)
        yield header.name + ".json", text.encode()


if __name__ == "__main__":
    serve(Summary)
