"""What a chessbrain plugin in Python is made of.

A plugin is a class that derives from Rescorer, Sampler or Exporter and says its
name, version, doc, settings and capabilities; serve(Class) is its main. The
messages (Game, Setting, ...) are those of plugin.proto, where every column has
its unit, range and perspective; plugin_pb2.py is generated from it.

Logs go through the module logging and appear in chessbrain's log under the
plugin's name; what is printed goes there, too. Only grpcio and protobuf are
needed.
"""

import json
import logging
import os
import signal
import sys
import tempfile
import threading
from concurrent import futures
from datetime import datetime, timezone

try:
    import grpc
    from google.protobuf import json_format

    import chessbrain_services as services
    from plugin_pb2 import Setting
except ImportError as error:
    sys.exit(f"{error}: {sys.executable} needs grpcio and protobuf (pip install grpcio protobuf, Debian: "
             "apt-get install python3-grpcio); another Python is named in the first line of plugin.py")

PROTOCOL_VERSION = 3
MAX_MESSAGE = 32 << 20  # bytes, both ways

# Places in Game.values: game.values[ROOT_Q::12] is the Q of the root at each ply.
ROOT_Q, ROOT_D, ROOT_M, BEST_Q, BEST_D, BEST_M = range(6)
PLAYED_Q, PLAYED_D, PLAYED_M, ORIG_Q, ORIG_D, ORIG_M = range(6, 12)

NoRows = services.NoRows


class Stage:
    """What all kinds have. The constructor gets the settings by name, each a float,
    an int (whole) or a str (text), and raises ValueError for those it refuses."""

    kind = ""
    name = ""
    version = "0.0.0"
    doc = ""
    settings = ()  # of Setting
    capabilities = ()  # "deterministic", "needs-games", "needs-legal-moves"
    concurrency = 1  # calls at a time; 0 = any number, in several threads

    def __init__(self, settings):
        pass


class Rescorer(Stage):
    """Changes what finished games teach."""

    kind = "rescorer"

    def rescore(self, game):
        """Returns None where the game (plugin_pb2.Game) stays as it is, or a dict
        of the columns that change, whole: {"weights": [...]}. The four columns of
        the policy come together. An exception refuses this game."""
        raise NotImplementedError

    def faults(self):
        """What was found broken so far and is done without; "" = nothing."""
        return ""


class Sampler(Stage):
    """Chooses rows. self.games is the window after the constructor: a deque of
    chessbrain_services.IndexGame, oldest first. The state of what it draws is bytes
    that chessbrain keeps; equal state and games give equal rows."""

    kind = "sampler"

    def added(self, game):
        """The game came as the newest one; it is in self.games already."""

    def removed(self, game):
        """The game, the oldest one, has left self.games."""

    def begin(self, seed, stream):
        """Returns the state that the random sequence (seed, stream) begins with, both
        below 2^64."""
        return b""

    def sample(self, state, n):
        """Returns a list of n rows, each (seq of the game, ply, weight in the loss), and
        the state after them. ValueError where state is none of its own: for n = 0 that
        is all that is asked. Raises NoRows where there is none to draw."""
        raise NotImplementedError


class Exporter(Stage):
    """Writes a checkpoint in some format."""

    kind = "exporter"

    def export(self, checkpoint):
        """Yields (plain file name, bytes) of each file, which chessbrain writes.
        checkpoint is a chessbrain_services.Checkpoint."""
        raise NotImplementedError


class _Lines(logging.Formatter):
    """Log records as the lines of JSON that the host reads."""

    def format(self, record):
        line = {
            "@level": {"WARNING": "warn", "CRITICAL": "error"}.get(record.levelname, record.levelname.lower()),
            "@message": record.getMessage(),
            "@timestamp": datetime.fromtimestamp(record.created, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


def _by_hand(stage):
    """Answers a user who starts the plugin instead of chessbrain."""
    if sys.argv[1:] == ["--describe"]:
        print(json_format.MessageToJson(services.describe(stage), preserving_proto_field_name=True))
        sys.exit(0)
    sys.exit(f"{stage.name} {stage.version}, a {stage.kind} of chessbrain: {stage.doc}.\n"
             f"chessbrain starts it: put its directory into one that --plugin-dir names "
             f"and choose it with --{stage.kind} {stage.name}. --describe prints its settings.")


def serve(stage):
    """Serves a class of stage until the host wants it to end or is gone."""
    if "CHESSBRAIN_PLUGIN" not in os.environ:
        _by_hand(stage)
    parent = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all: the host decides
    log = logging.StreamHandler(sys.stderr)
    log.setFormatter(_Lines())
    logging.basicConfig(level=logging.INFO, handlers=[log])

    directory = os.environ.get("PLUGIN_UNIX_SOCKET_DIR") or tempfile.mkdtemp(prefix="plugin")
    path = os.path.join(directory, f"{os.getpid()}.sock")
    stop = threading.Event()
    limits = [("grpc.max_receive_message_length", MAX_MESSAGE), ("grpc.max_send_message_length", MAX_MESSAGE)]
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16), options=limits)
    server.add_generic_rpc_handlers(services.handlers(stage, stop))
    if not server.add_insecure_port("unix:" + path):
        sys.exit(f"cannot listen at {path}")
    server.start()
    print(f"1|{PROTOCOL_VERSION}|unix|{path}|grpc", flush=True)
    sys.stdout = sys.stderr  # standard output was for that line alone

    while not stop.wait(1):
        if os.getppid() != parent:  # the host was killed
            break
    server.stop(grace=0.2).wait()
    if os.path.exists(path):
        os.unlink(path)
    os._exit(0)  # whatever a stage still does
