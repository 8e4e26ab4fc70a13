package setup

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/syzygy"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/selfplay"
	"github.com/chessbrain/chessbrain/trainer"
)

// ArchOf turns the configuration's message into a net's description.
func ArchOf(m *config.Arch) (nn.Arch, error) {
	var a nn.Arch
	if s := m.GetSparse(); s != nil {
		a = nn.SparseArch(int(s.GetAccumulators()))
		if a.Blocks[0].Features = 0; s.Features != nil { // a run of before there was a choice
			a.Blocks[0].Features = int(s.GetFeatures())
		}
		a.Head(nn.Policy).Hidden, a.Head(nn.Value).Hidden = int(s.GetPolicyUnits()), int(s.GetValueUnits())
	} else if blocks := blocksOf(m); blocks != nil {
		a = nn.Arch{
			Activation: word(m.GetActivation()),
			Blocks:     blocks,
			Heads: []nn.Head{
				{Output: nn.Policy, Kind: word(m.GetPolicyHead())},
				{Output: nn.Value, Kind: nn.HeadFlattened, Form: word(m.GetValueHead()), Channels: int(m.GetValueChannels()), Hidden: int(m.GetValueHidden())},
				{Output: nn.MovesLeft, Kind: nn.HeadFlattened, Channels: int(m.GetMovesLeftChannels()), Hidden: int(m.GetMovesLeftHidden())},
			},
		}
		a.Blocks[0].InputFormat = int(m.GetInputFormat())
		if p := a.Head(nn.Policy); p.Kind == nn.PolicyAttention {
			p.Channels, p.Hidden = a.Width(), a.Width()
		}
		if m.GetValuePooled() {
			a.Head(nn.Value).Kind = nn.HeadPooled
		}
	} else {
		return a, fmt.Errorf("model.arch: neither a convolutional tower nor an attention net nor a sparse net")
	}
	if !m.GetMovesLeft() {
		a.Heads = a.Heads[:2]
	}
	return a, a.Validate()
}

// word is an enum's value as nn has it.
func word(v fmt.Stringer) string { return strings.ToLower(v.String()) }

// blocksOf returns the blocks of a tower or an attention net; nil = it is none.
func blocksOf(m *config.Arch) []nn.Block {
	if tower := m.GetConvTower(); tower != nil {
		return nn.TowerBlocks(int(tower.GetFilters()), int(tower.GetBlocks()), int(tower.GetSeRatio()))
	}
	b := m.GetAttention()
	if b == nil {
		return nil
	}
	blocks := nn.AttentionArch(int(b.GetWidth()), int(b.GetEncoders()), int(b.GetHeads())).Blocks
	hidden := cmp.Or(int(b.GetHidden()), 2*int(b.GetWidth()))
	first := &blocks[0]
	if first.Gated = 0; b.GetGated() {
		first.Gated = 1
	}
	if b.GetPositions() > 0 {
		first.Kind, first.Positions = nn.BlockDenseEmbedding, int(b.GetPositions())
		first.Hidden, first.HiddenActivation = hidden, word(b.GetHiddenActivation())
	}
	for i := range blocks[1:] {
		e := &blocks[1+i]
		if e.Hidden, e.HiddenActivation = hidden, word(b.GetHiddenActivation()); b.GetSmolgen() {
			e.AddSmolgen(int(b.GetWidth()))
			e.Compressed, e.SmolgenActivation = cmp.Or(int(b.GetCompressed()), e.Compressed), word(b.GetSmolgenActivation())
			e.SmolgenHidden, e.SmolgenUnits = cmp.Or(int(b.GetSmolgenHidden()), e.SmolgenHidden), cmp.Or(int(b.GetSmolgenUnits()), e.SmolgenUnits)
		}
	}
	return blocks
}

// learning returns a with the heads that losses of the configuration want and it lacks: an
// auxiliary one, further ones by their names, and forecasts.
func learning(c *config.Config, a nn.Arch) nn.Arch {
	all, _ := losses(c.GetTraining().GetLosses())
	for _, l := range all {
		a = a.WithHead(string(l.Head), l.Name)
		switch {
		case l.Auxiliary():
			a = a.WithAuxiliary()
		case l.Kind == trainer.ValueError:
			a = a.WithForecasts(l.Name, 1, 0)
		case l.Kind == trainer.ValueCategorical:
			a = a.WithForecasts(l.Name, 0, l.Buckets)
		}
	}
	return a
}

// further says whether a loss of the configuration is of a further head or a forecast.
func further(c *config.Config) bool {
	return slices.ContainsFunc(c.GetTraining().GetLosses(), func(l *config.Loss) bool {
		return l.GetHeadName() != "" || l.GetKind() == config.Loss_VALUE_ERROR || l.GetKind() == config.Loss_VALUE_CATEGORICAL
	})
}

// ahead says whether a loss of the configuration learns what came later in a game.
func ahead(c *config.Config) bool {
	all, _ := losses(c.GetTraining().GetLosses())
	return slices.ContainsFunc(all, func(l trainer.Loss) bool { return l.Ahead() })
}

// trainedArch is the net that a configuration makes: that of its model.arch, with the heads
// that losses want.
func trainedArch(c *config.Config) (nn.Arch, error) {
	a, err := ArchOf(c.GetModel().GetArch())
	if err != nil {
		return a, err
	}
	return learning(c, a), nil
}

// TrainerConfig returns how a configuration trains a net of the given form. The
// losses are those that the net can have. Errors have exit code 2.
func TrainerConfig(c *config.Config, arch nn.Arch) (trainer.Config, error) {
	t := c.GetTraining()
	k := trainer.Config{
		BatchSize: int(t.GetBatchSize()), GradAccumSteps: int(t.GetGradAccumSteps()),
		Workers:   int(t.GetThreads()),
		Optimizer: strings.ToLower(t.GetOptimizer().String()),
		Momentum:  t.GetMomentum(), Beta1: t.GetBeta1(), Beta2: t.GetBeta2(), Epsilon: t.GetEpsilon(),
		MomentumDecay: t.GetMomentumDecay(), WeightDecay: t.GetWeightDecay(), ClipNorm: t.GetClipNorm(), BNMomentum: t.GetBnMomentum(),
		Warmup:    trainer.Warmup{Steps: t.GetWarmup().GetSteps(), KataGo: t.GetWarmup().GetKatago()},
		SWA:       trainer.SWAConfig{Period: t.GetSwa().GetPeriod(), MaxAverages: int(t.GetSwa().GetMaxAverages())},
		Precision: trainerPrecision(c), Device: trainerDevice(c),
		Seed: c.GetSeed(),
	}
	k.Workers = cmp.Or(k.Workers, runtime.GOMAXPROCS(0))
	if len(t.GetLrRule()) == 0 {
		k.Schedule = trainer.ConstantLR(t.GetLr() * t.GetLrScale())
	}
	for _, r := range t.GetLrRule() {
		rule := trainer.LRRule{StartingStep: r.GetStartingStep(), DurationSteps: r.GetDurationSteps(), Loop: r.GetLoop()}
		for _, lr := range r.GetLr() {
			rule.LR = append(rule.LR, lr*t.GetLrScale())
		}
		for _, tr := range r.GetTransition() {
			rule.Transition = append(rule.Transition, trainer.Transition(tr))
		}
		k.Schedule = append(k.Schedule, rule)
	}
	all, err := losses(t.GetLosses())
	if err != nil {
		return k, err
	}
	k.Losses = trainer.LossesFor(arch, all)
	if err := k.Validate(); err != nil {
		return k, &config.Error{Field: "training", Reason: err.Error()}
	}
	return k, nil
}

// losses turns the configured list into the trainer's. The schema has the targets in the
// order of encoding.Target.
func losses(list []*config.Loss) (all []trainer.Loss, err error) {
	for i, l := range list {
		loss := trainer.Loss{
			Head: trainer.Head(strings.ToLower(l.GetHead().String())), Kind: trainer.LossKind(strings.ToLower(l.GetKind().String())),
			Name: l.GetHeadName(), Target: encoding.Target(l.GetTarget()), Weight: l.GetWeight(), Metric: l.GetMetric(),
		}
		if loss.Kind == trainer.SoftCross {
			loss.Temperature = l.GetTemperature()
		}
		if loss.Kind == trainer.OptimisticCross {
			loss.Strength = l.GetStrength()
		}
		if loss.Kind == trainer.ValueCategorical {
			loss.Buckets = int(l.GetBuckets())
		}
		shares, err := trainer.ParseShares(l.GetQRatioSchedule())
		if err != nil {
			return nil, &config.Error{Field: fmt.Sprintf("training.losses[%d].q_ratio_schedule", i), Reason: err.Error()}
		}
		if l.GetQRatio() > 0 || shares != nil {
			loss.Mix = &trainer.Mix{QRatio: l.GetQRatio(), Schedule: shares, Other: encoding.Target(l.GetMixTarget())}
		}
		all = append(all, loss)
	}
	return all, nil
}

// searchConfig turns the configuration's mcts section into the search's.
func searchConfig(m *config.MCTS) mcts.Config {
	s := mcts.DefaultConfig()
	s.Simulations, s.Playouts = int(m.GetSimulations()), int(m.GetPlayouts())
	s.CPUCTForm = mcts.CPUCTForm(m.GetCpuctForm())
	s.CPUCT, s.CPUCTBase, s.CPUCTFactor, s.CPUCTStdev = m.GetCpuct(), m.GetCpuctBase(), m.GetCpuctFactor(), m.GetCpuctStdev()
	s.FPUForm = mcts.FPUForm(m.GetFpuForm())
	s.FPUReduction, s.RootFPUReduction, s.NoisyFPU = m.GetFpuReduction(), m.GetRootFpuReduction(), m.GetNoisyRootFpuReduction()
	s.FPUValue = m.GetFpuValue()
	s.NoiseAlpha, s.NoiseEpsilon = m.GetNoiseAlpha(), m.GetNoiseEpsilon()
	s.TwofoldDraw = m.GetTwofoldDraw()
	if t := m.GetPolicyTemperature(); t != 1 {
		s.PolicyTemperature = t
	}
	s.ForcedPlayouts = m.GetForcedPlayouts()
	g, l := m.GetGumbel(), m.GetMovesLeft()
	s.Gumbel = mcts.GumbelConfig{Enabled: g.GetEnabled(), Candidates: int(g.GetCandidates()), Scale: g.GetScale(),
		ValueScale: g.GetValueScale(), MaxVisitInit: g.GetMaxVisitInit(), Rescale: g.GetRescale()}
	s.MovesLeft = mcts.MovesLeftConfig{MaxEffect: l.GetMaxEffect(), Slope: l.GetSlope(), Threshold: l.GetThreshold()}
	s.MaxBatch, s.VirtualLoss = int(m.GetLeavesPerGame()), m.GetVirtualLoss()
	return s
}

// GameConfig turns the selfplay and mcts sections into how a game is played.
func GameConfig(c *config.Config) (selfplay.GameConfig, error) {
	s := c.GetSelfplay()
	g := selfplay.DefaultGameConfig()
	var err error
	g.Search = searchConfig(c.GetMcts())
	if g.Search.Prober, err = searchTables(c.GetMcts()); err != nil {
		return g, err
	}
	g.Noise = g.Search.NoiseEpsilon > 0
	if n := int(c.GetMcts().GetCacheHistory()); n < encoding.HistoryLen-1 {
		g.Search.CacheBoards = 1 + n
	}
	t := s.GetTemperature()
	g.Temperature = selfplay.Temperature{Start: t.GetStart(), Plies: int(t.GetPlies()), HalfLife: t.GetHalflife(),
		DecayPlies: int(t.GetDecayPlies()), Floor: t.GetFloor(), CutoffPly: int(t.GetCutoffPly()),
		ValueCutoff: t.GetValueCutoff(), VisitOffset: t.GetVisitOffset()}
	g.ExplorationRate, g.MaxPlies = s.GetExplorationRate(), int(s.GetMaxPlies())
	g.MaxPliesMaterial = int(s.GetMaxPliesMaterial())
	g.Resign = new(selfplay.ResignWatch).Rule(ResignOf(s.GetResign()))
	if p := s.GetPlayoutCap(); p.GetFullProbability() < 1 {
		g.PlayoutCap = selfplay.PlayoutCap{FullProbability: p.GetFullProbability(), CheapSimulations: int(p.GetCheapSimulations())}
	}
	r, o, f := s.GetReducedVisits(), s.GetOdds(), s.GetForks()
	g.ReducedVisits = selfplay.ReducedVisits{Simulations: int(r.GetSimulations()), Q: r.GetQ(), Plies: int(r.GetPlies()), Weight: r.GetWeight()}
	g.Odds = selfplay.Odds{Probability: o.GetProbability(), Factor: o.GetFactor()}
	g.Fork = selfplay.Fork{Early: f.GetEarly(), EarlyPlies: f.GetEarlyPlies(), Late: f.GetLate(), SidePositions: f.GetSidePositions()}
	g.PolicySurprise = s.GetPolicySurprise()
	if g.Schedule.Simulations, err = selfplay.ParseSchedule(s.GetSimulationsSchedule()); err != nil {
		return g, &config.Error{Field: "selfplay.simulations_schedule", Reason: err.Error()}
	}
	if g.Schedule.MaxPlies, err = selfplay.ParseSchedule(s.GetMaxPliesSchedule()); err != nil {
		return g, &config.Error{Field: "selfplay.max_plies_schedule", Reason: err.Error()}
	}
	if s.GetScheduleBy() == config.SelfPlay_SAMPLES {
		g.Schedule.By = selfplay.AgeSamples
	}
	if g.Openings, err = openingsOf(s.GetOpenings()); err != nil {
		return g, err
	}
	return g, g.Validate()
}

// WorkerConfig says how a process plays.
func WorkerConfig(c *config.Config, process uint64, resign *selfplay.ResignWatch, course *selfplay.CourseWatch, stats *selfplay.Stats) (selfplay.WorkerConfig, error) {
	game, err := GameConfig(c)
	if err != nil {
		return selfplay.WorkerConfig{}, &config.Error{Field: "selfplay", Reason: err.Error()}
	}
	front := new(atomic.Int64)
	front.Store(int64(course.Lines))
	return selfplay.WorkerConfig{
		Front: front, Game: game, RunSeed: c.GetSeed(), Process: process,
		Parallel: int(c.GetSelfplay().GetGamesPerWorker()), Pools: int(c.GetSelfplay().GetPools()), CacheEntries: int(c.GetMcts().GetCacheEntries()),
		Stats: stats, Resign: selfplay.NewResignRule(resign.Rule(ResignOf(c.GetSelfplay().GetResign()))),
	}, nil
}

// ResignOf is the resignation that a configuration asks for.
func ResignOf(c *config.Resign) selfplay.Resign {
	return selfplay.Resign{Q: c.GetQ(), Plies: int(c.GetPlies()), PlayThrough: c.GetPlaythrough()}
}

// searchTables opens the endgame tables of mcts.syzygy_path, nil = none, for all
// searches of the process. A file that is broken from the start is refused, as
// what it holds would silently be searched. Errors are *config.Error.
func searchTables(m *config.MCTS) (mcts.Prober, error) {
	path := m.GetSyzygyPath()
	if path == "" {
		return nil, nil
	}
	tables, err := syzygy.Open(filepath.SplitList(path)...)
	if err == nil {
		err = tables.Err()
	}
	if err != nil {
		return nil, &config.Error{Field: "mcts.syzygy_path", Reason: err.Error(), Remedy: "name the directories that hold the tables"}
	}
	return tables, nil
}

// openingsOf reads the start positions of the configuration and of its file.
// Errors are *config.Error.
func openingsOf(o *config.Openings) (*selfplay.Openings, error) {
	var starts []selfplay.Start
	for i, p := range o.GetPositions() {
		board, err := chess.ParseFEN(p.GetFen())
		if err != nil {
			return nil, &config.Error{Field: fmt.Sprintf("selfplay.openings.positions[%d].fen", i), Reason: err.Error()}
		}
		starts = append(starts, selfplay.Start{Board: board, Weight: p.GetWeight()})
	}
	if path := o.GetFile(); path != "" {
		more, err := arena.ReadOpenings(path, 0)
		if err != nil {
			return nil, &config.Error{Field: "selfplay.openings.file", Reason: err.Error(), Remedy: "name a file with one FEN or EPD a line, or a .pgn file"}
		}
		starts = append(starts, more...)
	}
	if o.GetOrder() == config.Openings_MASTERY && len(starts) == 0 {
		return nil, &config.Error{Field: "selfplay.openings.order", Reason: "MASTERY has no course: there are no start positions",
			Remedy: "name a list of start positions, from easy to hard, with --openings"}
	}
	order := map[config.Openings_Order]selfplay.Order{
		config.Openings_RANDOM: selfplay.OrderRandom, config.Openings_SEQUENTIAL: selfplay.OrderSequential,
		config.Openings_SHUFFLED: selfplay.OrderShuffled, config.Openings_MASTERY: selfplay.OrderMastery,
	}[o.GetOrder()]
	all, err := selfplay.NewOpenings(starts, order, int(o.GetRandomPlies()))
	if err != nil {
		return nil, &config.Error{Field: "selfplay.openings", Reason: err.Error()}
	}
	all.PolicyPlies, all.PolicyTemperature = int(o.GetPolicyPlies()), o.GetPolicyTemperature()
	all.Mirrored, all.StopProbability, all.Mastery = o.GetMirrored(), o.GetStopProbability(), o.GetMastery()
	return all, nil
}

// MetaSearch is the metadata of a net that has the search that made its training data,
// as JSON of mcts.Config: with it the net plays best.
const MetaSearch = "search"

// searchText is the MetaSearch of a configuration.
func searchText(c *config.Config) string {
	text, err := json.Marshal(searchConfig(c.GetMcts()))
	if err != nil {
		panic(err) // a struct of finite numbers
	}
	return string(text)
}

// SearchOf returns the search that a net should play with, by its metadata: the one
// that it was trained with, where it says so, else mcts.DefaultConfig. What belongs to
// self-play (noise, limits, batches) is the default's, and the caller sets Simulations.
// So do rescaled values: they make sharp targets of small differences, but a search that
// plays wants to know a large difference from a small one. And where a net that was trained
// with Gumbel search plays PUCT, as with limited time, a move without visits counts as good
// as its parent: such a policy leaves more than one move open. It is too sure of its first
// choices, though, so that any search of such a net has it less sharp. And PUCT explores more
// where values differ, and plays what it is surest of. docs/EXPERIMENTS.md has what all that is worth.
func SearchOf(meta map[string]string) (mcts.Config, error) {
	usual := mcts.DefaultConfig()
	s, err := TargetSearchOf(meta)
	if s.Gumbel.Rescale {
		s.Gumbel.Rescale, s.Gumbel.ValueScale = false, usual.Gumbel.ValueScale
	}
	if s.Gumbel.Enabled {
		s.FPUReduction, s.PolicyTemperature, s.CPUCTStdev, s.LCB = 0, 1.6, 0.4, 5
	}
	return s, err
}

// TargetSearchOf is SearchOf for searches that make targets: as the net's own self-play
// made them, rescaled values included.
func TargetSearchOf(meta map[string]string) (mcts.Config, error) {
	usual := mcts.DefaultConfig()
	text, ok := meta[MetaSearch]
	if !ok {
		return usual, nil
	}
	s := usual
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return usual, fmt.Errorf("the net's metadata %q: %w", MetaSearch, err)
	}
	s.Simulations, s.Playouts, s.MaxNodes = usual.Simulations, usual.Playouts, usual.MaxNodes
	s.MaxBatch, s.VirtualLoss, s.ForcedPlayouts, s.Prober = usual.MaxBatch, usual.VirtualLoss, usual.ForcedPlayouts, nil
	s.NoiseAlpha, s.NoiseEpsilon, s.NoisyFPU, s.Gumbel.Scale = usual.NoiseAlpha, usual.NoiseEpsilon, usual.NoisyFPU, usual.Gumbel.Scale
	if err := s.Validate(); err != nil {
		return usual, fmt.Errorf("the net's metadata %q: %w", MetaSearch, err)
	}
	return s, nil
}
