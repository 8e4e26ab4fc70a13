from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DescribeRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class Description(_message.Message):
    __slots__ = ["capabilities", "concurrency", "doc", "kind", "name", "settings", "version"]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    CONCURRENCY_FIELD_NUMBER: _ClassVar[int]
    DOC_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    concurrency: int
    doc: str
    kind: str
    name: str
    settings: _containers.RepeatedCompositeFieldContainer[Setting]
    version: str
    def __init__(self, kind: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[str] = ..., doc: _Optional[str] = ..., settings: _Optional[_Iterable[_Union[Setting, _Mapping]]] = ..., capabilities: _Optional[_Iterable[str]] = ..., concurrency: _Optional[int] = ...) -> None: ...

class ExportHeader(_message.Message):
    __slots__ = ["arch", "has_games", "id", "metadata", "name", "rows", "samples", "step", "tensors"]
    class MetadataEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ARCH_FIELD_NUMBER: _ClassVar[int]
    HAS_GAMES_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    TENSORS_FIELD_NUMBER: _ClassVar[int]
    arch: bytes
    has_games: bool
    id: str
    metadata: _containers.ScalarMap[str, str]
    name: str
    rows: int
    samples: int
    step: int
    tensors: _containers.RepeatedCompositeFieldContainer[TensorInfo]
    def __init__(self, name: _Optional[str] = ..., id: _Optional[str] = ..., step: _Optional[int] = ..., samples: _Optional[int] = ..., rows: _Optional[int] = ..., arch: _Optional[bytes] = ..., metadata: _Optional[_Mapping[str, str]] = ..., tensors: _Optional[_Iterable[_Union[TensorInfo, _Mapping]]] = ..., has_games: bool = ...) -> None: ...

class ExportReply(_message.Message):
    __slots__ = ["data", "name", "sha256"]
    DATA_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    name: str
    sha256: bytes
    def __init__(self, name: _Optional[str] = ..., data: _Optional[bytes] = ..., sha256: _Optional[bytes] = ...) -> None: ...

class ExportRequest(_message.Message):
    __slots__ = ["games", "header", "tensor"]
    GAMES_FIELD_NUMBER: _ClassVar[int]
    HEADER_FIELD_NUMBER: _ClassVar[int]
    TENSOR_FIELD_NUMBER: _ClassVar[int]
    games: GameBatch
    header: ExportHeader
    tensor: TensorPiece
    def __init__(self, header: _Optional[_Union[ExportHeader, _Mapping]] = ..., tensor: _Optional[_Union[TensorPiece, _Mapping]] = ..., games: _Optional[_Union[GameBatch, _Mapping]] = ...) -> None: ...

class Game(_message.Message):
    __slots__ = ["counts", "end", "extra", "flags", "id", "klds", "legal_moves", "moves", "net_id", "ordinal", "ply_flags", "policy_kind", "policy_size", "probs", "results", "seed", "start", "values", "visits", "weights", "white_result"]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    EXTRA_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    KLDS_FIELD_NUMBER: _ClassVar[int]
    LEGAL_MOVES_FIELD_NUMBER: _ClassVar[int]
    MOVES_FIELD_NUMBER: _ClassVar[int]
    NET_ID_FIELD_NUMBER: _ClassVar[int]
    ORDINAL_FIELD_NUMBER: _ClassVar[int]
    PLY_FLAGS_FIELD_NUMBER: _ClassVar[int]
    POLICY_KIND_FIELD_NUMBER: _ClassVar[int]
    POLICY_SIZE_FIELD_NUMBER: _ClassVar[int]
    PROBS_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    VISITS_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    WHITE_RESULT_FIELD_NUMBER: _ClassVar[int]
    counts: _containers.RepeatedScalarFieldContainer[int]
    end: int
    extra: bytes
    flags: int
    id: bytes
    klds: _containers.RepeatedScalarFieldContainer[float]
    legal_moves: _containers.RepeatedScalarFieldContainer[int]
    moves: _containers.RepeatedScalarFieldContainer[int]
    net_id: str
    ordinal: int
    ply_flags: bytes
    policy_kind: bytes
    policy_size: _containers.RepeatedScalarFieldContainer[int]
    probs: _containers.RepeatedScalarFieldContainer[float]
    results: _containers.RepeatedScalarFieldContainer[float]
    seed: int
    start: str
    values: _containers.RepeatedScalarFieldContainer[float]
    visits: _containers.RepeatedScalarFieldContainer[int]
    weights: _containers.RepeatedScalarFieldContainer[float]
    white_result: int
    def __init__(self, id: _Optional[bytes] = ..., start: _Optional[str] = ..., net_id: _Optional[str] = ..., seed: _Optional[int] = ..., ordinal: _Optional[int] = ..., flags: _Optional[int] = ..., end: _Optional[int] = ..., white_result: _Optional[int] = ..., extra: _Optional[bytes] = ..., moves: _Optional[_Iterable[int]] = ..., policy_kind: _Optional[bytes] = ..., policy_size: _Optional[_Iterable[int]] = ..., counts: _Optional[_Iterable[int]] = ..., probs: _Optional[_Iterable[float]] = ..., values: _Optional[_Iterable[float]] = ..., visits: _Optional[_Iterable[int]] = ..., weights: _Optional[_Iterable[float]] = ..., klds: _Optional[_Iterable[float]] = ..., ply_flags: _Optional[bytes] = ..., results: _Optional[_Iterable[float]] = ..., legal_moves: _Optional[_Iterable[int]] = ...) -> None: ...

class GameBatch(_message.Message):
    __slots__ = ["games"]
    GAMES_FIELD_NUMBER: _ClassVar[int]
    games: _containers.RepeatedCompositeFieldContainer[Game]
    def __init__(self, games: _Optional[_Iterable[_Union[Game, _Mapping]]] = ...) -> None: ...

class IndexUpdate(_message.Message):
    __slots__ = ["id", "num_rows", "oldest", "ordinal", "plies", "reset", "row_kld", "row_ply", "row_q_diff", "row_visits", "row_weight", "seq"]
    ID_FIELD_NUMBER: _ClassVar[int]
    NUM_ROWS_FIELD_NUMBER: _ClassVar[int]
    OLDEST_FIELD_NUMBER: _ClassVar[int]
    ORDINAL_FIELD_NUMBER: _ClassVar[int]
    PLIES_FIELD_NUMBER: _ClassVar[int]
    RESET_FIELD_NUMBER: _ClassVar[int]
    ROW_KLD_FIELD_NUMBER: _ClassVar[int]
    ROW_PLY_FIELD_NUMBER: _ClassVar[int]
    ROW_Q_DIFF_FIELD_NUMBER: _ClassVar[int]
    ROW_VISITS_FIELD_NUMBER: _ClassVar[int]
    ROW_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    id: bytes
    num_rows: _containers.RepeatedScalarFieldContainer[int]
    oldest: int
    ordinal: _containers.RepeatedScalarFieldContainer[int]
    plies: _containers.RepeatedScalarFieldContainer[int]
    reset: bool
    row_kld: _containers.RepeatedScalarFieldContainer[float]
    row_ply: _containers.RepeatedScalarFieldContainer[int]
    row_q_diff: _containers.RepeatedScalarFieldContainer[float]
    row_visits: _containers.RepeatedScalarFieldContainer[int]
    row_weight: _containers.RepeatedScalarFieldContainer[int]
    seq: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, reset: bool = ..., oldest: _Optional[int] = ..., seq: _Optional[_Iterable[int]] = ..., id: _Optional[bytes] = ..., ordinal: _Optional[_Iterable[int]] = ..., plies: _Optional[_Iterable[int]] = ..., num_rows: _Optional[_Iterable[int]] = ..., row_ply: _Optional[_Iterable[int]] = ..., row_weight: _Optional[_Iterable[int]] = ..., row_q_diff: _Optional[_Iterable[float]] = ..., row_kld: _Optional[_Iterable[float]] = ..., row_visits: _Optional[_Iterable[int]] = ...) -> None: ...

class OpenReply(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class OpenRequest(_message.Message):
    __slots__ = ["settings"]
    class SettingsEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    settings: _containers.ScalarMap[str, str]
    def __init__(self, settings: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Outcome(_message.Message):
    __slots__ = ["changed", "error"]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    changed: Game
    error: str
    def __init__(self, changed: _Optional[_Union[Game, _Mapping]] = ..., error: _Optional[str] = ...) -> None: ...

class RescoreReply(_message.Message):
    __slots__ = ["batch", "faults", "outcomes"]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    FAULTS_FIELD_NUMBER: _ClassVar[int]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    batch: int
    faults: str
    outcomes: _containers.RepeatedCompositeFieldContainer[Outcome]
    def __init__(self, batch: _Optional[int] = ..., outcomes: _Optional[_Iterable[_Union[Outcome, _Mapping]]] = ..., faults: _Optional[str] = ...) -> None: ...

class RescoreRequest(_message.Message):
    __slots__ = ["batch", "games"]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    GAMES_FIELD_NUMBER: _ClassVar[int]
    batch: int
    games: _containers.RepeatedCompositeFieldContainer[Game]
    def __init__(self, batch: _Optional[int] = ..., games: _Optional[_Iterable[_Union[Game, _Mapping]]] = ...) -> None: ...

class SampleBatch(_message.Message):
    __slots__ = ["games", "plies", "state", "weights"]
    GAMES_FIELD_NUMBER: _ClassVar[int]
    PLIES_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    games: _containers.RepeatedScalarFieldContainer[int]
    plies: _containers.RepeatedScalarFieldContainer[int]
    state: bytes
    weights: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, games: _Optional[_Iterable[int]] = ..., plies: _Optional[_Iterable[int]] = ..., weights: _Optional[_Iterable[float]] = ..., state: _Optional[bytes] = ...) -> None: ...

class SampleReply(_message.Message):
    __slots__ = ["batches"]
    BATCHES_FIELD_NUMBER: _ClassVar[int]
    batches: _containers.RepeatedCompositeFieldContainer[SampleBatch]
    def __init__(self, batches: _Optional[_Iterable[_Union[SampleBatch, _Mapping]]] = ...) -> None: ...

class SampleRequest(_message.Message):
    __slots__ = ["batches", "index", "rows", "seed", "state", "stream"]
    BATCHES_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    batches: int
    index: IndexUpdate
    rows: int
    seed: int
    state: bytes
    stream: int
    def __init__(self, index: _Optional[_Union[IndexUpdate, _Mapping]] = ..., state: _Optional[bytes] = ..., seed: _Optional[int] = ..., stream: _Optional[int] = ..., rows: _Optional[int] = ..., batches: _Optional[int] = ...) -> None: ...

class Setting(_message.Message):
    __slots__ = ["choices", "default_value", "doc", "max", "min", "name", "text", "whole"]
    CHOICES_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_VALUE_FIELD_NUMBER: _ClassVar[int]
    DOC_FIELD_NUMBER: _ClassVar[int]
    MAX_FIELD_NUMBER: _ClassVar[int]
    MIN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    WHOLE_FIELD_NUMBER: _ClassVar[int]
    choices: _containers.RepeatedScalarFieldContainer[str]
    default_value: str
    doc: str
    max: float
    min: float
    name: str
    text: bool
    whole: bool
    def __init__(self, name: _Optional[str] = ..., doc: _Optional[str] = ..., default_value: _Optional[str] = ..., min: _Optional[float] = ..., max: _Optional[float] = ..., whole: bool = ..., text: bool = ..., choices: _Optional[_Iterable[str]] = ...) -> None: ...

class TensorInfo(_message.Message):
    __slots__ = ["name", "shape"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    name: str
    shape: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, name: _Optional[str] = ..., shape: _Optional[_Iterable[int]] = ...) -> None: ...

class TensorPiece(_message.Message):
    __slots__ = ["data", "tensor"]
    DATA_FIELD_NUMBER: _ClassVar[int]
    TENSOR_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    tensor: int
    def __init__(self, tensor: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...
