"""PyTorch's side of the comparisons: the same nets, measured in the same way.

On the CPU (scripts/bench_peers.sh) it reads requests from standard input, one a line:

    infer|train NET BATCH fp32|bf16 SECONDS

(NET = filters x blocks, such as 64x6, or an attention net such as 256x10x8h-smolgen)

and answers each with one JSON line: {"boards_per_s": ...}, the best of many short
runs within SECONDS, as `chessbrain bench` reports it. Models are kept between
requests. The number of threads is the first command-line argument (default 1).

PyTorch gets what helps it: channels-last tensors, batch norm folded and the graph
frozen for inference, with or without its further rewriting, whichever is faster;
input planes expanded beforehand, no softmax over the legal moves. Training is forward,
losses, backward and SGD with Nesterov momentum; bf16 is autocast. The policy is
gathered from 80 planes to 1858 moves by an index of the right size; which moves it
names does not change the cost.

With --device cuda[:N] it measures on its own and prints a table, or with --json one
object a line: inference in fp16 and the training step in autocast bf16, both as they
come ("eager") and through torch.compile, whose modes capture CUDA graphs. Everything
lies on the device beforehand. Times are those of CUDA events around many calls. What
could not be measured has "error" instead of figures. The exit code is 3 where there
is no GPU for PyTorch.
"""

import argparse
import gc
import json
import math
import sys
import time

if {"-h", "--help"} & set(sys.argv[1:]):  # without PyTorch, too
    print(__doc__.strip())
    print("\nusage: bench_torch.py [THREADS] | --device cuda[:N] [--nets ...] [--batches ...] [--train-batches ...]")
    print("       [--modes eager|MODE ...] [--seconds S] [--json]")
    sys.exit(0)

NO_GPU = 3  # exit code

try:
    import torch
    from torch import nn
    from torch.nn import functional
    from torch.nn.utils.fusion import fuse_conv_bn_eval
except ImportError as missing:
    print(f"bench_torch: no PyTorch in {sys.executable}: {missing}", file=sys.stderr)
    sys.exit(NO_GPU)

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
        self.outputs = (self.policy2, self.value.fc2, self.moves_left.fc2)
        self.gates = [block.fc2 for block in self.tower]

    def forward(self, x):
        x = self.tower(functional.relu(self.input(x)))
        policy = self.policy2(functional.relu(self.policy1(x))).flatten(1)[:, self.index]
        return policy, self.value(x), functional.relu(self.moves_left(x))


def norm(layer, x):
    """Layer norm in the type of its weights, which autocast on CPUs does not see to in PyTorch 1.13."""
    return layer(x.to(layer.weight.dtype))


def smolgen_units(width):
    return min(256, (width * width + 4095) // 4096 * 16)


class Smolgen(nn.Module):
    """What an encoder adds to the products of queries and keys; `shared` is of all encoders."""

    def __init__(self, width, heads, shared):
        super().__init__()
        self.heads, self.shared = heads, [shared]  # no parameter of this module
        channels, units = min(32, (width + 63) // 64 * 8), smolgen_units(width)
        self.compress = nn.Linear(width, channels, bias=False)
        self.fc1, self.ln1 = nn.Linear(64 * channels, units), nn.LayerNorm(units, eps=1e-3)
        self.fc2, self.ln2 = nn.Linear(units, heads * units), nn.LayerNorm(heads * units, eps=1e-3)

    def forward(self, x):
        y = norm(self.ln1, functional.silu(self.fc1(self.compress(x).flatten(1))))
        y = norm(self.ln2, functional.silu(self.fc2(y))).view(x.shape[0], self.heads, -1)
        return self.shared[0](y).view(x.shape[0], self.heads, 64, 64)


class Encoder(nn.Module):
    """Attention between squares and two layers on each, norms behind the sums."""

    def __init__(self, width, encoders, heads, shared):
        super().__init__()
        self.heads, self.scale, self.depth_scale = heads, (2 * encoders) ** -0.25, (width // heads) ** -0.5
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.ffn1, self.ffn2 = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.ln1, self.ln2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.smolgen = Smolgen(width, heads, shared) if shared is not None else None

    def forward(self, x):
        n, _, width = x.shape
        q, k, v = (t.view(n, 64, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, 2))
        logits = q @ k.transpose(2, 3) * self.depth_scale
        if self.smolgen is not None:
            logits = logits + self.smolgen(x)
        y = (logits.softmax(3) @ v).transpose(1, 2).reshape(n, 64, width)
        x = norm(self.ln1, self.scale * self.out(y) + x)
        return norm(self.ln2, self.scale * self.ffn2(functional.relu(self.ffn1(x))) + x)


def mish_of(x):
    """Mish, whose own operator has no bf16 on CPUs in PyTorch 1.13."""
    return x * torch.tanh(functional.softplus(x))


class AttentionNet(nn.Module):
    """The attention nets of chessbrain's names, with the attention policy."""

    def __init__(self, width, encoders, heads, smolgen, mish):
        super().__init__()
        self.act = mish_of if mish else functional.relu
        self.scale = width**-0.5
        self.embedding = nn.Linear(PLANES + 64, width)
        self.mul, self.add = nn.Parameter(torch.ones(64, width)), nn.Parameter(torch.zeros(64, width))
        self.shared = nn.Linear(smolgen_units(width), 64 * 64, bias=False) if smolgen else None
        self.body = nn.Sequential(*[Encoder(width, encoders, heads, self.shared) for _ in range(encoders)])
        self.policy, self.q, self.k = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.promotion = nn.Linear(width, 3, bias=False)
        self.value, self.moves_left = ScalarHead(width, 32, 3), ScalarHead(width, 8, 1)
        self.register_buffer("map", torch.randint(-1, 2, (64, 64)).float())
        self.register_buffer("index", torch.randperm(64 * 64 + 24)[:MOVES])
        self.outputs, self.gates = (self.q, self.value.fc2, self.moves_left.fc2), []

    def forward(self, x):
        n = x.shape[0]
        x = torch.cat((x.flatten(2).transpose(1, 2), self.map.to(x.dtype).expand(n, 64, 64)), 2)
        x = self.body(self.act(self.embedding(x)) * self.mul + self.add)
        p = self.act(self.policy(x))
        k = self.k(p)
        scores = self.q(p) @ k.transpose(1, 2) * self.scale
        policy = torch.cat((scores.flatten(1), self.promotion(k[:, 56:]).flatten(1)), 1)[:, self.index]
        board = x.transpose(1, 2).reshape(n, -1, 8, 8)
        return policy, self.value(board), functional.relu(self.moves_left(board))


def build(net):
    """Returns the module of a net's name."""
    size, *options = net.split("-")
    numbers = [int(n) for n in size.rstrip("h").split("x")]
    if len(numbers) == 2:
        return Net(*numbers)
    return AttentionNet(*numbers, "smolgen" in options, "mish" in options)


def fresh(net):
    """Returns a net with the initial weights of nn.Init (nn/init.go), channels last."""
    model = build(net)
    outputs, gates = set(model.outputs), set(model.gates)
    for layer in model.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            variance = (1 if layer in gates else 2) / layer.weight[0].numel()
            nn.init.normal_(layer.weight, std=math.sqrt(variance) * (0.05 if layer in outputs else 1))
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    nn.init.constant_(model.moves_left.fc2.bias, 40)
    return model.to(memory_format=torch.channels_last)


def flops(net):
    """Nominal operations of one board's forward pass, counted as nn.Arch.FLOPs does."""
    weights = (p for p in build(net).parameters() if p.dim() > 1)
    return sum(2 * p.numel() * (64 if p.dim() == 4 else 1) for p in weights)


def planes(batch):
    """Input planes [batch, 112, 8, 8], mostly zeros like real ones."""
    return (torch.rand(batch, PLANES, 8, 8) < 0.1).float().contiguous(memory_format=torch.channels_last)


def inference(net, batch, bf16):
    """Returns a function that evaluates one batch on the CPU."""
    model = fresh(net).eval()
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


def cuda_inference(net, batch, mode, device):
    """Returns a function that evaluates one batch on a GPU in fp16."""
    model = fresh(net).eval()
    for conv in [m for m in model.modules() if isinstance(m, Conv)]:
        conv[0], conv[1] = fuse_conv_bn_eval(conv[0], conv[1]), nn.Identity()
    model = model.half().to(device, memory_format=torch.channels_last)
    x = planes(batch).half().to(device)
    evaluate = compiled(model, mode)

    def run():
        with torch.no_grad():
            evaluate(x)

    return run


def objective(model, x, legal, target, wdl, left, bf16):
    """The default losses of chessbrain (trainer/loss.go); L2 is the optimizer's."""
    with torch.autocast(x.device.type, dtype=torch.bfloat16, enabled=bf16):
        policy, value, moves_left = model(x)
    logs = functional.log_softmax(policy.float().masked_fill(~legal, -1e9), 1)
    loss = -(target * logs).sum(1).mean()
    loss = loss + 0.25 * functional.cross_entropy(value.float(), wdl)
    return loss + 0.1 * functional.huber_loss(moves_left.float() / 20, left / 20, delta=0.5)


def optimizer_of(model, on_gpu):
    """SGD with Nesterov momentum; on a GPU with L2 and, where PyTorch has it, as one kernel."""
    parameters, settings = list(model.parameters()), {"lr": 1e-4, "momentum": 0.9, "nesterov": True}
    if not on_gpu:
        return torch.optim.SGD(parameters, **settings)
    groups = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": 1e-3},
        {"params": [p for p in parameters if p.dim() == 1]},
    ]
    try:
        return torch.optim.SGD(groups, fused=True, **settings)
    except (TypeError, RuntimeError):  # older than 2.3
        return torch.optim.SGD(groups, **settings)


def training(net, batch, bf16, mode="eager", device="cpu"):
    """Returns a function that does one step."""
    on_gpu = device != "cpu"
    model = fresh(net).train().to(device)
    optimizer = optimizer_of(model, on_gpu)
    x = planes(batch)
    if on_gpu and bf16:
        x = x.bfloat16()  # as autocast would do in every step
    legal = torch.rand(batch, MOVES) < 0.02
    legal[:, 0] = True
    target = torch.rand(batch, MOVES) * legal
    target /= target.sum(1, keepdim=True).clamp_min(1e-9)
    wdl, left = torch.rand(batch, 3).softmax(1), torch.rand(batch, 1) * 100
    rows = [t.to(device) for t in (x, legal, target, wdl, left)]
    loss_of = compiled(objective, mode)

    def run():
        optimizer.zero_grad(set_to_none=True)  # first: captured graphs own the gradients
        loss_of(model, *rows, bf16).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()

    return run


def cuda_training(net, batch, mode, device):
    """Returns a function that does one step on a GPU in autocast bf16."""
    return training(net, batch, True, mode, device)


def compiled(f, mode):
    """Returns f, or f through torch.compile in one of its modes."""
    return f if mode == "eager" else torch.compile(f, mode=mode, dynamic=False)


def best_time(run, seconds):
    """Returns the shortest time of one call within about so many seconds."""
    run()
    best, end, runs = float("inf"), time.perf_counter() + seconds, 0
    while runs < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best, runs = min(best, time.perf_counter() - start), runs + 1
    return best


def cuda_time(run, calls):
    """Returns the device's time of one call, seconds, over so many of them."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(calls):
        run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1000 / calls


def cuda_figures(run, seconds):
    """Returns the shortest mean time of a call over windows of at least 50 ms, and the
    peak of device memory in bytes: what tensors took, and what PyTorch held for them
    (captured graphs keep their memory to themselves and show in the second alone)."""
    for _ in range(10):  # compiles, tries algorithms, captures graphs
        run()
    torch.cuda.synchronize()
    gc.collect()
    torch.cuda.empty_cache()  # what only the warm-up needed
    torch.cuda.reset_peak_memory_stats()
    calls = max(1, math.ceil(0.05 / cuda_time(run, 3)))
    best, end, windows = float("inf"), time.perf_counter() + seconds, 0
    while windows < 3 or time.perf_counter() < end:
        best, windows = min(best, cuda_time(run, calls)), windows + 1
    return best, torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()


def cuda_row(kind, net, batch, mode, device, seconds):
    """Measures one row of the table. A step counts as three forward passes."""
    from torch import _dynamo  # PyTorch 2 only, which the CPU's side does not need

    row = {"kind": kind, "net": net, "batch": batch, "mode": mode, "precision": "fp16" if kind == "infer" else "bf16"}
    make, passes = (cuda_inference, 1) if kind == "infer" else (cuda_training, 3)
    _dynamo.reset()
    gc.collect()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()  # what PyTorch keeps of earlier rows
    try:
        best, tensors, held = cuda_figures(make(net, batch, mode, device), seconds)
    except Exception as e:  # out of memory, or no compiler for torch.compile: the other rows still count
        row["error"] = f"{type(e).__name__}: {(str(e).strip() or '?').splitlines()[0]}"
        return row
    row["boards_per_s"] = batch / best
    row["tflops"] = passes * flops(net) * batch / best / 1e12
    row["peak_mib"], row["peak_held_mib"] = ((after - b) / 2**20 for after, b in zip((tensors, held), before))
    return row


def cuda_table(options):
    """Measures everything that was asked for on a GPU."""
    if not torch.cuda.is_available():
        print(f"bench_torch: PyTorch {torch.__version__} finds no GPU", file=sys.stderr)
        sys.exit(NO_GPU)
    torch.cuda.set_device(options.device if ":" in options.device else "cuda:0")
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    about = {"torch": torch.__version__, "device": torch.cuda.get_device_name()}
    if not options.json:
        print(f"PyTorch {about['torch']} on {about['device']}; a call's shortest time, peak of device memory: tensors, held")
        print(f"{'kind':6} {'net':8} {'batch':>5}  {'mode':24} {'boards/s':>12} {'TFLOP/s':>8} {'MiB':>8} {'held':>8}")
    for kind, batches in (("infer", options.batches), ("train", options.train_batches)):
        for net in options.nets:
            for batch in batches:
                for mode in options.modes:
                    show(cuda_row(kind, net, batch, mode, options.device, options.seconds), about, options.json)


def show(row, about, as_json):
    """Prints one row."""
    if as_json:
        print(json.dumps({**row, **about}), flush=True)
        return
    start = f"{row['kind']:6} {row['net']:8} {row['batch']:5}  {row['mode'] + ' ' + row['precision']:24} "
    if "error" in row:
        print(start + "not measured: " + row["error"], flush=True)
        return
    print(start + f"{row['boards_per_s']:12.0f} {row['tflops']:8.1f} {row['peak_mib']:8.0f} {row['peak_held_mib']:8.0f}", flush=True)


def answer_requests(threads):
    """Answers requests until standard input ends."""
    torch.set_num_threads(threads)
    makers, models = {"infer": inference, "train": training}, {}
    print(json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads()}), flush=True)
    for line in sys.stdin:
        kind, net, batch, precision, seconds = line.split()
        key = (kind, net, batch, precision)
        if key not in models:
            models[key] = makers[kind](net, int(batch), precision == "bf16")
        print(json.dumps({"boards_per_s": int(batch) / best_time(models[key], float(seconds))}), flush=True)


def main():
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="Times chessbrain's nets in PyTorch.")
    parser.add_argument("threads", nargs="?", type=int, default=1, help="of the CPU")
    parser.add_argument("--device", default="cpu", help="cpu: answer requests; cuda or cuda:N: print a table")
    parser.add_argument("--nets", nargs="+", default=["64x6", "128x10", "256x20"])
    parser.add_argument("--batches", nargs="*", type=int, default=[1, 4, 16, 64, 256, 1024, 4096], help="of inference")
    parser.add_argument("--train-batches", nargs="*", type=int, default=[1024, 4096])
    parser.add_argument("--modes", nargs="+", default=["eager", "reduce-overhead", "max-autotune"], help="eager, or a mode of torch.compile")
    parser.add_argument("--seconds", type=float, default=2, help="of a measurement, after the warm-up")
    parser.add_argument("--json", action="store_true", help="one object a line")
    options = parser.parse_args()
    if options.device != "cpu" and not options.device.startswith("cuda"):
        parser.error(f"--device {options.device}: want cpu, cuda or cuda:N")
    torch.manual_seed(1)
    if options.device == "cpu":
        answer_requests(options.threads)
    else:
        cuda_table(options)


if __name__ == "__main__":
    main()
