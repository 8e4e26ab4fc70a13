package config

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/sample/chance"
	"github.com/chessbrain/chessbrain/replay/loader"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/selfplay"
	"github.com/chessbrain/chessbrain/trainer"
)

// side says at which ends a room has a limit of its own.
type side int

const (
	both side = iota
	low       // above, only the schema has a limit
	high      // below, the room takes more: a 0 that means its default, or off
	none      // the room takes what the schema does, and more
)

// limit is a number of the schema and the room that checks it too.
type limit struct {
	path  string
	sides side
	check func(x float64) error
}

// inSearch, inGame and the others set one number of a room's default settings
// and let the room check them.
func inSearch(path string, sides side, set func(*mcts.Config, float64)) limit {
	return limit{path, sides, func(x float64) error {
		c := mcts.DefaultConfig()
		c.Gumbel.Enabled, c.CPUCTForm = true, mcts.CPUCTLog
		set(&c, x)
		return c.Validate()
	}}
}

func inGame(path string, sides side, set func(*selfplay.GameConfig, float64)) limit {
	return limit{path, sides, func(x float64) error {
		c := selfplay.DefaultGameConfig()
		c.Search.Simulations, c.Resign.Enabled, c.Odds.Probability = 1, true, 1
		c.Odds.Factor = 1
		set(&c, x)
		return c.Validate()
	}}
}

func inOpenings(path string, sides side, set func(*selfplay.Openings, float64)) limit {
	return inGame(path, sides, func(c *selfplay.GameConfig, x float64) {
		o, err := selfplay.NewOpenings(nil, selfplay.OrderRandom, 0)
		if err != nil {
			panic(err)
		}
		set(o, x)
		c.Openings = o
	})
}

func inArch(path string, set func(*nn.Arch, int)) limit {
	return limit{"model.arch." + path, both, func(x float64) error {
		a := nn.DefaultArch()
		set(&a, int(x))
		return a.Validate()
	}}
}

func inSparse(field string, set func(*nn.Arch, int)) limit {
	return limit{"model.arch.sparse." + field, both, func(x float64) error {
		a := nn.SparseArch(nn.SparseBlock)
		set(&a, int(x))
		return a.Validate()
	}}
}

func inAttention(field string, set func(*nn.Arch, int)) limit {
	return limit{"model.arch.attention." + field, both, func(x float64) error {
		a, err := nn.ParseArch("64x1x4h-dense-smolgen")
		if err != nil {
			panic(err)
		}
		set(&a, int(x))
		return a.Validate()
	}}
}

// optional is a size of an attention net of which 0 says: the usual one.
func optional(field string, set func(*nn.Arch, int)) limit {
	l := inAttention(field, func(a *nn.Arch, n int) { set(a, max(1, n)) })
	l.sides = high
	return l
}

func inTraining(path string, sides side, set func(*trainer.Config, float64)) limit {
	return limit{"training." + path, sides, func(x float64) error {
		c := trainer.Config{BatchSize: 1, GradAccumSteps: 1, Optimizer: trainer.OptimizerAdamW, Epsilon: 1, BNMomentum: 1,
			Schedule: trainer.ConstantLR(1), Losses: trainer.DefaultLosses()}
		set(&c, x)
		return c.Validate()
	}}
}

func inShuffle(path string, set func(*shuffle.Settings, float64)) limit {
	return limit{"loop.shuffle." + path, both, func(x float64) error {
		s := shuffle.Settings{Window: shuffle.DefaultWindow(), RowsPerFile: 1, Split: shuffle.SplitByGame}
		s.Window.MinRows = 1
		set(&s, x)
		return s.Validate()
	}}
}

func inSPRT(path string, set func(*arena.SPRT, float64)) limit {
	return limit{"loop.gatekeeper.sprt." + path, both, func(x float64) error {
		s := arena.SPRT{Elo0: -1000, Elo1: 1000, Alpha: 0.05, Beta: 0.05}
		set(&s, x)
		return s.Validate()
	}}
}

func inWeight(path string, set func(*loader.PositionWeight, float64)) limit {
	return limit{"data_loader.stage.chunk_unpacker.position_weight." + path, low, func(x float64) error {
		w := loader.PositionWeight{Enabled: true, Focus: chance.Focus{QWeight: 1, PolicyScale: 1, Alpha: 1, Beta: 1, Gamma: 1, Tau: 1}}
		set(&w, x)
		return w.Validate()
	}}
}

func inWorker(path string, sides side, set func(*selfplay.WorkerConfig, int)) limit {
	return limit{path, sides, func(x float64) error {
		c := selfplay.WorkerConfig{Game: selfplay.DefaultGameConfig(), Parallel: 2}
		c.Game.Search.Simulations = 1
		set(&c, int(x))
		return c.Validate()
	}}
}

// limits are the numbers that rooms check as well: a room has other users than a
// configuration, such as the options of a UCI engine.
var limits = []limit{
	inSearch("mcts.cpuct", high, func(c *mcts.Config, x float64) { c.CPUCT = x }),
	inSearch("mcts.cpuct_stdev", both, func(c *mcts.Config, x float64) { c.CPUCTStdev = x }),
	inSearch("mcts.cpuct_base", low, func(c *mcts.Config, x float64) { c.CPUCTBase = x }),
	inSearch("mcts.cpuct_factor", both, func(c *mcts.Config, x float64) { c.CPUCTFactor = x }),
	inSearch("mcts.fpu_reduction", both, func(c *mcts.Config, x float64) { c.FPUReduction = x }),
	inSearch("mcts.root_fpu_reduction", both, func(c *mcts.Config, x float64) { c.RootFPUReduction = x }),
	inSearch("mcts.noisy_root_fpu_reduction", both, func(c *mcts.Config, x float64) { c.NoisyFPU = x }),
	inSearch("mcts.fpu_value", both, func(c *mcts.Config, x float64) { c.FPUValue = x }),
	inSearch("mcts.noise_alpha", both, func(c *mcts.Config, x float64) { c.NoiseAlpha = x }),
	inSearch("mcts.noise_epsilon", both, func(c *mcts.Config, x float64) { c.NoiseEpsilon = x }),
	inSearch("mcts.virtual_loss", both, func(c *mcts.Config, x float64) { c.VirtualLoss = x }),
	inSearch("mcts.leaves_per_game", high, func(c *mcts.Config, x float64) { c.MaxBatch = int(x) }),
	inSearch("mcts.simulations", none, func(c *mcts.Config, x float64) { c.Simulations = int(x) }),
	inSearch("mcts.playouts", low, func(c *mcts.Config, x float64) { c.Playouts = int(x) }),
	inSearch("mcts.forced_playouts", both, func(c *mcts.Config, x float64) { c.ForcedPlayouts = x }),
	inSearch("mcts.gumbel.candidates", low, func(c *mcts.Config, x float64) { c.Gumbel.Candidates = int(x) }),
	inSearch("mcts.gumbel.scale", both, func(c *mcts.Config, x float64) { c.Gumbel.Scale = x }),
	inSearch("mcts.gumbel.value_scale", both, func(c *mcts.Config, x float64) { c.Gumbel.ValueScale = x }),
	inSearch("mcts.gumbel.max_visit_init", both, func(c *mcts.Config, x float64) { c.Gumbel.MaxVisitInit = x }),
	inSearch("mcts.moves_left.max_effect", both, func(c *mcts.Config, x float64) { c.MovesLeft.MaxEffect = x }),
	inSearch("mcts.moves_left.slope", both, func(c *mcts.Config, x float64) { c.MovesLeft.Slope = x }),
	inSearch("mcts.moves_left.threshold", both, func(c *mcts.Config, x float64) { c.MovesLeft.Threshold = x }),

	inGame("selfplay.exploration_rate", both, func(c *selfplay.GameConfig, x float64) { c.ExplorationRate = x }),
	inGame("selfplay.policy_surprise", both, func(c *selfplay.GameConfig, x float64) { c.PolicySurprise = x }),
	inGame("selfplay.max_plies", high, func(c *selfplay.GameConfig, x float64) { c.MaxPlies = int(x) }),
	inGame("selfplay.max_plies_material", low, func(c *selfplay.GameConfig, x float64) { c.MaxPliesMaterial = int(x) }),
	inGame("selfplay.resign.q", both, func(c *selfplay.GameConfig, x float64) { c.Resign.Q = x }),
	inGame("selfplay.resign.plies", low, func(c *selfplay.GameConfig, x float64) { c.Resign.Plies = int(x) }),
	inGame("selfplay.resign.playthrough", both, func(c *selfplay.GameConfig, x float64) { c.Resign.PlayThrough = x }),
	inGame("selfplay.playout_cap.full_probability", high, func(c *selfplay.GameConfig, x float64) {
		c.PlayoutCap = selfplay.PlayoutCap{FullProbability: x, CheapSimulations: 1}
	}),
	inGame("selfplay.reduced_visits.simulations", low, func(c *selfplay.GameConfig, x float64) {
		c.ReducedVisits = selfplay.ReducedVisits{Simulations: int(x), Q: 0.5, Plies: 1}
	}),
	inGame("selfplay.reduced_visits.q", high, func(c *selfplay.GameConfig, x float64) { c.ReducedVisits.Q = x }),
	inGame("selfplay.reduced_visits.plies", none, func(c *selfplay.GameConfig, x float64) { c.ReducedVisits.Plies = int(x) }),
	inGame("selfplay.reduced_visits.weight", both, func(c *selfplay.GameConfig, x float64) { c.ReducedVisits.Weight = x }),
	inGame("selfplay.odds.probability", both, func(c *selfplay.GameConfig, x float64) { c.Odds.Probability = x }),
	inGame("selfplay.odds.factor", both, func(c *selfplay.GameConfig, x float64) { c.Odds.Factor = x }),
	inGame("selfplay.forks.early", both, func(c *selfplay.GameConfig, x float64) { c.Fork.Early = x }),
	inGame("selfplay.forks.early_plies", high, func(c *selfplay.GameConfig, x float64) { c.Fork.EarlyPlies = x }),
	inGame("selfplay.forks.late", both, func(c *selfplay.GameConfig, x float64) { c.Fork.Late = x }),
	inGame("selfplay.forks.side_positions", both, func(c *selfplay.GameConfig, x float64) { c.Fork.SidePositions = x }),
	inGame("selfplay.temperature.start", both, func(c *selfplay.GameConfig, x float64) { c.Temperature.Start = x }),
	inGame("selfplay.temperature.plies", low, func(c *selfplay.GameConfig, x float64) { c.Temperature.Plies = int(x) }),
	inGame("selfplay.temperature.halflife", both, func(c *selfplay.GameConfig, x float64) { c.Temperature.HalfLife = x }),
	inGame("selfplay.temperature.floor", both, func(c *selfplay.GameConfig, x float64) { c.Temperature.Floor = x }),
	inGame("selfplay.temperature.cutoff_ply", low, func(c *selfplay.GameConfig, x float64) { c.Temperature.CutoffPly = int(x) }),
	inGame("selfplay.temperature.decay_plies", low, func(c *selfplay.GameConfig, x float64) { c.Temperature.DecayPlies = int(x) }),
	inGame("selfplay.temperature.value_cutoff", both, func(c *selfplay.GameConfig, x float64) { c.Temperature.ValueCutoff = x }),
	inGame("selfplay.temperature.visit_offset", both, func(c *selfplay.GameConfig, x float64) { c.Temperature.VisitOffset = x }),
	inOpenings("selfplay.openings.policy_plies", both, func(o *selfplay.Openings, x float64) { o.PolicyPlies = int(x) }),
	inOpenings("selfplay.openings.policy_temperature", high, func(o *selfplay.Openings, x float64) { o.PolicyTemperature = x }),
	inOpenings("selfplay.openings.stop_probability", both, func(o *selfplay.Openings, x float64) { o.StopProbability = x }),
	{"selfplay.openings.random_plies", both, func(x float64) error {
		_, err := selfplay.NewOpenings(nil, selfplay.OrderRandom, int(x))
		return err
	}},
	{"selfplay.openings.positions.weight", low, func(x float64) error {
		_, err := selfplay.NewOpenings([]selfplay.Start{{Board: chess.StartBoard(), Weight: x}}, selfplay.OrderRandom, 0)
		return err
	}},
	inWorker("selfplay.games_per_worker", both, func(c *selfplay.WorkerConfig, n int) { c.Parallel = n }),
	inWorker("selfplay.cohort_size", both, func(c *selfplay.WorkerConfig, n int) { c.Parallel = n }),
	inWorker("selfplay.pools", high, func(c *selfplay.WorkerConfig, n int) { c.Pools = n }),
	inWorker("mcts.cache_entries", both, func(c *selfplay.WorkerConfig, n int) { c.CacheEntries = n }),

	{"model.arch.version", both, func(x float64) error {
		text := strings.Replace(`{"version":N,"filters":8,"blocks":1,"value_head":"wdl","value_hidden":8,"moves_left":false}`, "N", strconv.Itoa(int(x)), 1)
		return json.Unmarshal([]byte(text), new(nn.Arch))
	}},
	{"model.arch.input_format", both, func(x float64) error { // other formats play, and are not trained
		a := nn.DefaultArch()
		a.Blocks[0].InputFormat = int(x)
		return errors.Join(a.Validate(), a.Only("training", nn.BlockInput, nn.BlockResidual, nn.PolicyConvolutional, nn.HeadFlattened))
	}},
	inArch("conv_tower.filters", func(a *nn.Arch, n int) { a.Blocks[0].Width = n }),
	inArch("conv_tower.blocks", func(a *nn.Arch, n int) { a.Blocks = nn.TowerBlocks(32, n, 4) }),
	inArch("conv_tower.se_ratio", func(a *nn.Arch, n int) { a.Blocks = nn.TowerBlocks(32, 4, n) }),
	inSparse("accumulators", func(a *nn.Arch, n int) { a.Blocks[0].Width = n }),
	inSparse("policy_units", func(a *nn.Arch, n int) { a.Head(nn.Policy).Hidden = n }),
	inSparse("value_units", func(a *nn.Arch, n int) { a.Head(nn.Value).Hidden = n }),
	inSparse("features", func(a *nn.Arch, n int) { a.Blocks[0].Features = n }),
	inAttention("width", func(a *nn.Arch, n int) { a.Blocks[0].Width = n }),
	inAttention("encoders", func(a *nn.Arch, n int) { *a = nn.AttentionArch(64, n, 4) }),
	inAttention("heads", func(a *nn.Arch, n int) { a.Blocks[1].Heads = n }),
	optional("hidden", func(a *nn.Arch, n int) { a.Blocks[1].Hidden = n }),
	optional("compressed", func(a *nn.Arch, n int) { a.Blocks[1].Compressed = n }),
	optional("smolgen_hidden", func(a *nn.Arch, n int) { a.Blocks[1].SmolgenHidden = n }),
	optional("smolgen_units", func(a *nn.Arch, n int) { a.Blocks[1].SmolgenUnits = n }),
	optional("positions", func(a *nn.Arch, n int) { a.Blocks[0].Positions = n }),
	inArch("value_channels", func(a *nn.Arch, n int) { a.Head(nn.Value).Channels = n }),
	inArch("value_hidden", func(a *nn.Arch, n int) { a.Head(nn.Value).Hidden = n }),
	inArch("moves_left_channels", func(a *nn.Arch, n int) { a.Head(nn.MovesLeft).Channels = n }),
	inArch("moves_left_hidden", func(a *nn.Arch, n int) { a.Head(nn.MovesLeft).Hidden = n }),

	inTraining("threads", low, func(c *trainer.Config, x float64) { c.Workers = int(x) }),
	inTraining("batch_size", low, func(c *trainer.Config, x float64) { c.BatchSize = int(x) }),
	inTraining("grad_accum_steps", low, func(c *trainer.Config, x float64) { c.GradAccumSteps = int(x) }),
	inTraining("lr", low, func(c *trainer.Config, x float64) { c.Schedule = trainer.ConstantLR(x) }),
	inTraining("warmup.steps", low, func(c *trainer.Config, x float64) { c.Warmup.Steps = int64(x) }),
	inTraining("momentum", both, func(c *trainer.Config, x float64) { c.Momentum = x }),
	inTraining("beta1", both, func(c *trainer.Config, x float64) { c.Beta1 = x }),
	inTraining("beta2", both, func(c *trainer.Config, x float64) { c.Beta2 = x }),
	inTraining("epsilon", low, func(c *trainer.Config, x float64) { c.Epsilon = x }),
	inTraining("momentum_decay", both, func(c *trainer.Config, x float64) { c.MomentumDecay = x }),
	inTraining("weight_decay", low, func(c *trainer.Config, x float64) { c.WeightDecay = x }),
	inTraining("clip_norm", low, func(c *trainer.Config, x float64) { c.ClipNorm = x }),
	inTraining("bn_momentum", both, func(c *trainer.Config, x float64) { c.BNMomentum = x }),
	inTraining("losses.weight", low, func(c *trainer.Config, x float64) { c.Losses[0].Weight = x }),
	inTraining("losses.q_ratio", both, func(c *trainer.Config, x float64) { c.Losses[1].Mix = &trainer.Mix{QRatio: x} }),
	inTraining("losses.buckets", both, func(c *trainer.Config, x float64) {
		c.Losses[1].Kind, c.Losses[1].Buckets = trainer.ValueCategorical, int(x)
	}),
	inTraining("swa.period", low, func(c *trainer.Config, x float64) { c.SWA = trainer.SWAConfig{Period: int64(x), MaxAverages: 1} }),
	inTraining("swa.max_averages", low, func(c *trainer.Config, x float64) { c.SWA = trainer.SWAConfig{Period: 1, MaxAverages: int(x)} }),
	{"training.st_theta", both, inShuffle("", func(s *shuffle.Settings, x float64) { s.ShortTerm = x }).check},
	{"training.validation.share", both, inShuffle("", func(s *shuffle.Settings, x float64) { s.Validation = x }).check},

	inShuffle("min_rows", func(s *shuffle.Settings, x float64) { s.Window.MinRows = int64(x) }),
	inShuffle("max_rows", func(s *shuffle.Settings, x float64) { s.Window.MaxRows = int64(x) }),
	inShuffle("keep_target_rows", func(s *shuffle.Settings, x float64) { s.Window.KeepRows = int64(x) }),
	inShuffle("expand_window_per_row", func(s *shuffle.Settings, x float64) { s.Window.Expand = x }),
	inShuffle("taper_window_exponent", func(s *shuffle.Settings, x float64) { s.Window.Exponent = x }),
	inShuffle("taper_window_scale", func(s *shuffle.Settings, x float64) { s.Window.Scale = int64(x) }),
	inShuffle("add_to_data_rows", func(s *shuffle.Settings, x float64) { s.Window.AddToData = int64(x) }),
	inShuffle("approx_rows_per_file", func(s *shuffle.Settings, x float64) { s.RowsPerFile = int64(x) }),

	inSPRT("elo0", func(t *arena.SPRT, x float64) {
		if t.Elo0 = x; x >= 1000 {
			t.Elo0, t.Elo1 = x-1, x // elo0 stays below elo1
		}
	}),
	inSPRT("elo1", func(t *arena.SPRT, x float64) {
		if t.Elo1 = x; x <= -1000 {
			t.Elo0, t.Elo1 = x, x+1
		}
	}),
	inSPRT("alpha", func(t *arena.SPRT, x float64) { t.Alpha = x }),
	inSPRT("beta", func(t *arena.SPRT, x float64) { t.Beta = x }),

	inWeight("q_weight", func(w *loader.PositionWeight, x float64) { w.QWeight = x }),
	inWeight("pol_scale", func(w *loader.PositionWeight, x float64) { w.PolicyScale = x }),
	inWeight("alpha", func(w *loader.PositionWeight, x float64) { w.Alpha = x }),
	inWeight("beta", func(w *loader.PositionWeight, x float64) { w.Beta = x }),
	inWeight("gamma", func(w *loader.PositionWeight, x float64) { w.Gamma = x }),
	inWeight("tau", func(w *loader.PositionWeight, x float64) { w.Tau = x }),
}

// TestRoomsAgree: what the schema allows, the room that uses the number takes;
// what the schema refuses, the room refuses where it has a limit at that end. A
// room that refused a valid configuration would name no place in a file.
func TestRoomsAgree(t *testing.T) {
	for _, l := range limits {
		fd, err := descriptorOf(l.path)
		if err != nil {
			t.Error(err)
			continue
		}
		b, ok := intervalOf(fd)
		if !ok {
			t.Errorf("%s has no range", l.path)
			continue
		}
		below, lowest, highest, above := edges(fd, b)
		for _, x := range []float64{lowest, highest} {
			if err := l.check(x); err != nil {
				t.Errorf("%s = %v is in %s, but: %v", l.path, x, b.text, err)
			}
		}
		if (l.sides == both || l.sides == low) && l.check(below) == nil {
			t.Errorf("%s = %v is not in %s, but the room takes it", l.path, below, b.text)
		}
		if (l.sides == both || l.sides == high) && l.check(above) == nil {
			t.Errorf("%s = %v is not in %s, but the room takes it", l.path, above, b.text)
		}
	}
}

// edges are the numbers next to the ends of a range: the last one outside and the
// first one inside, at both ends.
func edges(fd protoreflect.FieldDescriptor, b interval) (below, lowest, highest, above float64) {
	next := func(x, towards float64) float64 {
		if fd.Kind() != protoreflect.DoubleKind {
			return x + math.Copysign(1, towards)
		}
		return math.Nextafter(x, towards)
	}
	below, lowest = next(b.low, math.Inf(-1)), b.low
	if b.lowOpen {
		below, lowest = b.low, next(b.low, math.Inf(1))
	}
	highest, above = b.high, next(b.high, math.Inf(1))
	if b.highOpen {
		highest, above = next(b.high, math.Inf(-1)), b.high
	}
	return below, lowest, highest, above
}
