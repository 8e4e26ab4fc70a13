"""The gRPC services of a plugin over one instance of its class."""

import logging
import math
import os
import threading
from collections import deque
from hashlib import sha256

import grpc

import plugin_pb2 as pb

PIECE = 1 << 20  # bytes of a file in one message


class NoRows(Exception):
    """Says why no rows can be drawn, such as a window without a fitting one."""


class IndexGame:
    """A game of a sampler's window; its rows are columns of equal length."""

    __slots__ = ("seq", "id", "ordinal", "plies", "row_ply", "row_weight", "row_q_diff", "row_kld", "row_visits")


class Checkpoint:
    """What an exporter sees: header (plugin_pb2.ExportHeader), tensors as a list of
    (name, shape, little-endian float32 bytes), and games, an iterator that can be
    walked through once (None without the capability "needs-games")."""

    def __init__(self, requests):
        self.header = next(requests).header
        held = [bytearray() for _ in self.header.tensors]
        missing = sum(4 * math.prod(t.shape) for t in self.header.tensors)
        while missing > 0:
            piece = next(requests).tensor
            held[piece.tensor] += piece.data
            missing -= len(piece.data)
        self.tensors = [(t.name, tuple(t.shape), held[i]) for i, t in enumerate(self.header.tensors)]
        self.games = (game for request in requests for game in request.games.games) if self.header.has_games else None


def describe(stage):
    """The description of a class."""
    return pb.Description(
        kind=stage.kind, name=stage.name, version=stage.version, doc=stage.doc, settings=stage.settings,
        capabilities=stage.capabilities, concurrency=stage.concurrency)


def handlers(stage, stop):
    """The handlers of all services that a class needs, go-plugin's own among them.
    stop is set when the host wants the process to end."""
    s = Services(stage)

    def shutdown(request, context):
        if not context.add_callback(stop.set):  # once the answer is sent
            stop.set()
        return b""

    package = "chessbrain.plugin.v1."
    kind, methods = {
        "rescorer": ("Rescorer", {"Rescore": _stream(s.rescore, pb.RescoreRequest)}),
        "sampler": ("Sampler", {"Sample": _call(s.sample, pb.SampleRequest)}),
        "exporter": ("Exporter", {"Export": _stream(s.export, pb.ExportRequest)}),
    }[stage.kind]
    all_methods = {
        package + "Stage": {"Describe": _call(s.describe, pb.DescribeRequest), "Open": _call(s.open, pb.OpenRequest)},
        package + kind: methods,
        # The bytes are HealthCheckResponse{status: SERVING}; requests are not read.
        "grpc.health.v1.Health": {"Check": grpc.unary_unary_rpc_method_handler(lambda request, context: b"\x08\x01")},
        "plugin.GRPCController": {"Shutdown": grpc.unary_unary_rpc_method_handler(shutdown)},
    }
    return [grpc.method_handlers_generic_handler(name, methods) for name, methods in all_methods.items()]


def _call(method, request):
    return grpc.unary_unary_rpc_method_handler(method, request.FromString, lambda reply: reply.SerializeToString())


def _stream(method, request):
    return grpc.stream_stream_rpc_method_handler(method, request.FromString, lambda reply: reply.SerializeToString())


class Services:
    """The calls, each with the request and gRPC's context."""

    def __init__(self, stage):
        self.stage = stage
        self.instance = None
        self.lock = threading.Lock()  # of the instance in Open, and of a sampler in all calls

    def describe(self, request, context):
        return describe(self.stage)

    def open(self, request, context):
        with self.lock:
            if self.instance is not None:
                context.abort(grpc.StatusCode.FAILED_PRECONDITION, "a plugin is opened once")
            try:
                instance = self.stage(settings_of(self.stage, request.settings))
            except ValueError as err:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(err))
            if self.stage.kind == "sampler":
                instance.games = deque()
            self.instance = instance
        return pb.OpenReply()

    def opened(self, context):
        if self.instance is None:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "open the plugin first")
        return self.instance

    def rescore(self, requests, context):
        rescorer = self.opened(context)
        for request in requests:
            outcomes = [_outcome(rescorer, game) for game in request.games]
            yield pb.RescoreReply(batch=request.batch, outcomes=outcomes, faults=rescorer.faults())

    def sample(self, request, context):
        sampler, reply = self.opened(context), pb.SampleReply()
        with self.lock:
            if request.HasField("index"):
                _update(sampler, request.index)
            try:
                state = request.state or sampler.begin(request.seed, request.stream)
                for _ in range(request.batches):
                    rows, state = sampler.sample(state, request.rows)
                    games, plies, weights = zip(*rows) if rows else ((), (), ())
                    reply.batches.add(games=games, plies=plies, weights=weights, state=state)
            except (NoRows, ValueError) as err:
                if not reply.batches:  # one after the first may never be wanted
                    context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(err) or "no rows")
        return reply

    def export(self, requests, context):
        exporter = self.opened(context)
        for name, data in exporter.export(Checkpoint(requests)):
            if name != os.path.basename(name) or name[:1] in ("", "."):
                raise ValueError(f"file name {name!r} is not a plain one")
            view = memoryview(data)
            for at in range(0, len(view), PIECE):
                yield pb.ExportReply(name=name, data=bytes(view[at:at + PIECE]))
            yield pb.ExportReply(name=name, sha256=sha256(view).digest())


def settings_of(stage, given):
    """The values of all settings: those given as text, the others' defaults."""
    unknown = sorted(set(given) - {s.name for s in stage.settings})
    if unknown:
        raise ValueError(f"unknown setting {unknown[0]!r}")
    return {s.name: _value(s, given.get(s.name, s.default_value)) for s in stage.settings}


def _value(s, text):
    if s.text:
        if s.choices and text not in s.choices:
            raise ValueError(f"setting {s.name}: {text!r}, want one of {', '.join(s.choices)}")
        return text
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not s.min <= value <= s.max or s.whole and not value.is_integer():
        raise ValueError(f"setting {s.name}: {text!r}, want a {'whole ' if s.whole else ''}number from {s.min:g} to {s.max:g}")
    return int(value) if s.whole else value


def _outcome(rescorer, game):
    try:
        columns = rescorer.rescore(game)
        return pb.Outcome(changed=pb.Game(id=game.id, **columns)) if columns else pb.Outcome()
    except Exception as err:  # the others of the batch can go on
        logging.exception("game %s", game.id.hex())
        return pb.Outcome(error=f"{type(err).__name__}: {err}")


def _update(sampler, update):
    """Applies one message of an index update."""
    while sampler.games and (update.reset or sampler.games[0].seq < update.oldest):
        sampler.removed(sampler.games.popleft())
    row = 0
    for i, seq in enumerate(update.seq):
        game, rows = IndexGame(), slice(row, row + update.num_rows[i])
        game.seq, game.id, game.ordinal, game.plies = seq, update.id[16 * i:16 * i + 16], update.ordinal[i], update.plies[i]
        for column in IndexGame.__slots__[4:]:
            setattr(game, column, getattr(update, column)[rows])
        row = rows.stop
        sampler.games.append(game)
        sampler.added(game)
