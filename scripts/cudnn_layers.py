#!/usr/bin/env python3
"""The rate of cuDNN on 3x3 convolutions over 8x8 boards, in bf16: what PyTorch can reach at most on this GPU.

usage: cudnn_layers.py        needs PyTorch with CUDA; scripts/first_gpu.sh runs it
One line of JSON a layer: channels, boards, and TFLOP/s of the forward pass, the data gradient and the weight gradient,
each the best of five replays of a captured graph.
"""
import argparse
import json

argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()

import torch
import torch.nn.functional as F

torch.backends.cudnn.benchmark = True
CALLS = 30


def milliseconds(call):
    """The time of one call, of a graph of some."""
    for _ in range(5):
        call()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            call()
    best = float("inf")
    for _ in range(5):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        best = min(best, begin.elapsed_time(end) / CALLS)
    return best


for channels, boards in ((64, 1024), (128, 256), (128, 1024), (128, 4096), (256, 256), (256, 1024)):
    def tensor(*shape):
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16).to(memory_format=torch.channels_last)

    x, dy, w = tensor(boards, channels, 8, 8), tensor(boards, channels, 8, 8), tensor(channels, channels, 3, 3)

    def backward(wanted):
        return torch.ops.aten.convolution_backward(dy, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, wanted)

    tflop = 2 * boards * 64 * 9 * channels * channels / 1e9
    passes = {
        "forward": lambda: F.conv2d(x, w, padding=1),
        "data_gradient": lambda: backward([True, False, False]),
        "weight_gradient": lambda: backward([False, True, False]),
    }
    rates = {name: round(tflop / milliseconds(call), 1) for name, call in passes.items()}
    print(json.dumps({"kind": "cudnn", "gpu": torch.cuda.get_device_name(), "channels": channels, "boards": boards, **rates}), flush=True)
