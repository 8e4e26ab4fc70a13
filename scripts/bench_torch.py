"""PyTorch's side of bench_peers.sh: the same nets, measured on request.

Reads requests from standard input, one a line:

    infer|train NET BATCH fp32|bf16 SECONDS      (NET = filters x blocks, such as 64x6)

and answers each with one JSON line: {"boards_per_s": ...}, the best of many short
runs within SECONDS, as `chessbrain bench` reports it. Models are kept between
requests. The number of threads is the first command-line argument (default 1).

PyTorch gets what helps it: channels-last tensors, batch norm folded and the graph
frozen for inference, with or without its further rewriting, whichever is faster;
input planes expanded beforehand, no softmax over the legal moves. Training is forward, losses, backward and SGD with Nesterov momentum; bf16
is autocast. The policy is gathered from 80 planes to 1858 moves by an index of the
right size; which moves it names does not change the cost.
"""

import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional

PLANES, POLICY_PLANES, MOVES = 112, 80, 1858


class Conv(nn.Sequential):
    """A convolution without bias and batch norm."""

    def __init__(self, inputs, outputs, size):
        super().__init__(
            nn.Conv2d(inputs, outputs, size, padding=size // 2, bias=False),
            nn.BatchNorm2d(outputs),
        )


class Block(nn.Module):
    """Residual block with squeeze-and-excitation (gate and shift)."""

    def __init__(self, filters):
        super().__init__()
        units = max(8, filters // 4)
        self.conv1, self.conv2 = Conv(filters, filters, 3), Conv(filters, filters, 3)
        self.fc1, self.fc2 = nn.Linear(filters, units), nn.Linear(units, 2 * filters)

    def forward(self, x):
        y = self.conv2(functional.relu(self.conv1(x)))
        s = self.fc2(functional.relu(self.fc1(y.mean((2, 3)))))
        gate, beta = s.chunk(2, 1)
        return functional.relu(torch.sigmoid(gate)[:, :, None, None] * y + beta[:, :, None, None] + x)


class ScalarHead(nn.Module):
    """1x1 convolution and two fully connected layers."""

    def __init__(self, filters, channels, outputs):
        super().__init__()
        self.conv = Conv(filters, channels, 1)
        self.fc1, self.fc2 = nn.Linear(64 * channels, 128), nn.Linear(128, outputs)

    def forward(self, x):
        return self.fc2(functional.relu(self.fc1(functional.relu(self.conv(x)).flatten(1))))


class Net(nn.Module):
    """The default net of chessbrain: policy, WDL and moves-left logits."""

    def __init__(self, filters, blocks):
        super().__init__()
        self.input = Conv(PLANES, filters, 3)
        self.tower = nn.Sequential(*[Block(filters) for _ in range(blocks)])
        self.policy1 = Conv(filters, filters, 3)
        self.policy2 = nn.Conv2d(filters, POLICY_PLANES, 3, padding=1)
        self.value, self.moves_left = ScalarHead(filters, 32, 3), ScalarHead(filters, 8, 1)
        self.register_buffer("index", torch.randperm(POLICY_PLANES * 64)[:MOVES])

    def forward(self, x):
        x = self.tower(functional.relu(self.input(x)))
        policy = self.policy2(functional.relu(self.policy1(x))).flatten(1)[:, self.index]
        return policy, self.value(x), functional.relu(self.moves_left(x))


def planes(batch):
    """Input planes [batch, 112, 8, 8], mostly zeros like real ones."""
    return (torch.rand(batch, PLANES, 8, 8) < 0.1).float().contiguous(memory_format=torch.channels_last)


def inference(filters, blocks, batch, bf16):
    """Returns a function that evaluates one batch."""
    model = Net(filters, blocks).eval().to(memory_format=torch.channels_last)
    x = planes(batch)
    if bf16:
        model, x = model.bfloat16(), x.bfloat16()  # autocast would convert the weights every time
    with torch.no_grad():
        plain, rewritten = (torch.jit.freeze(torch.jit.trace(model, x)) for _ in range(2))  # folds batch norm
        graphs = [plain, torch.jit.optimize_for_inference(rewritten)]  # which changes its argument

    def runner(graph):
        def run():
            with torch.no_grad():
                graph(x)

        for _ in range(3):  # the first calls specialise the graph
            run()
        return run

    return min((runner(g) for g in graphs), key=lambda run: best_time(run, 0.3))


def training(filters, blocks, batch, bf16):
    """Returns a function that does one step."""
    model = Net(filters, blocks).train().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9, nesterov=True)
    x = planes(batch)
    legal = torch.rand(batch, MOVES) < 0.02
    legal[:, 0] = True
    target = torch.rand(batch, MOVES) * legal
    target /= target.sum(1, keepdim=True).clamp_min(1e-9)
    result, left = torch.randint(0, 3, (batch,)), torch.rand(batch, 1) * 100

    def run():
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            policy, value, moves_left = model(x)
        logs = functional.log_softmax(policy.float().masked_fill(~legal, -1e9), 1)
        loss = -(target * logs).sum(1).mean()
        loss = loss + functional.cross_entropy(value.float(), result)
        loss = loss + 0.5 * functional.huber_loss(moves_left.float() / 20, left / 20)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()

    return run


def best_time(run, seconds):
    """Returns the shortest time of one call within about so many seconds."""
    run()
    best, end, runs = float("inf"), time.perf_counter() + seconds, 0
    while runs < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best, runs = min(best, time.perf_counter() - start), runs + 1
    return best


def main():
    """Answers requests until standard input ends."""
    torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    torch.manual_seed(1)
    makers, models = {"infer": inference, "train": training}, {}
    print(json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads()}), flush=True)
    for line in sys.stdin:
        kind, net, batch, precision, seconds = line.split()
        key = (kind, net, batch, precision)
        if key not in models:
            filters, blocks = (int(n) for n in net.split("x"))
            models[key] = makers[kind](filters, blocks, int(batch), precision == "bf16")
        print(json.dumps({"boards_per_s": int(batch) / best_time(models[key], float(seconds))}), flush=True)


if __name__ == "__main__":
    main()
