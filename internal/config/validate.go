package config

import (
	"math"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// bounds is what a number may be. Both ends are allowed unless open.
type bounds struct {
	low, high         float64
	lowOpen, highOpen bool
}

func (b bounds) holds(x float64) bool {
	return (x > b.low || x == b.low && !b.lowOpen) && (x < b.high || x == b.high && !b.highOpen)
}

// String is the remedy: "allowed is 1 to 65536".
func (b bounds) String() string {
	above, below := "from ", " up to "
	if b.lowOpen {
		above = "above "
	}
	if b.highOpen {
		below = " and below "
	}
	if math.IsInf(b.high, 1) {
		return "allowed is " + above + floatText(b.low) + " on"
	}
	return "allowed is " + above + strconv.FormatFloat(b.low, 'f', -1, 64) + below + strconv.FormatFloat(b.high, 'f', -1, 64)
}

func within(low, high float64) bounds { return bounds{low: low, high: high} }
func above(low, high float64) bounds  { return bounds{low: low, high: high, lowOpen: true} }
func below(low, high float64) bounds  { return bounds{low: low, high: high, highOpen: true} }

const (
	share     = 1.0
	manySteps = 1e15
)

// ranges has the bounds of every number of the schema, by path; [] stands for
// any element of a list. A test holds it against the schema.
var ranges = map[string]bounds{
	"version": within(1, 1), "seed": within(0, math.MaxUint64),

	"selfplay.episodes": within(1, 1e12), "selfplay.producer_workers": within(0, 1024),
	"selfplay.producer_queue_size": within(1, 1e6), "selfplay.games_per_worker": within(1, 65536),
	"selfplay.cohort_size": within(1, 65536), "selfplay.exploration_rate": within(0, share),
	"selfplay.temperature.start": within(0, 100), "selfplay.temperature.plies": within(0, 1e5),
	"selfplay.temperature.halflife": within(0, 1e5), "selfplay.temperature.floor": within(0, 100),
	"selfplay.temperature.cutoff_ply": within(0, 1e5), "selfplay.resign.q": below(-1, 0),
	"selfplay.resign.plies": within(1, 1000), "selfplay.resign.playthrough": within(0, share),
	"selfplay.resign.max_false_rate": within(0, share), "selfplay.max_plies": within(2, 20000), "selfplay.max_plies_material": within(0, 100),
	"selfplay.openings.random_plies": within(0, 1000), "selfplay.openings.positions[].weight": above(0, 1e9),
	"selfplay.openings.policy_plies": within(0, 1000), "selfplay.openings.policy_temperature": above(0, 100),
	"selfplay.openings.stop_probability": within(0, share),
	"selfplay.temperature.decay_plies":   within(0, 1e5), "selfplay.temperature.value_cutoff": within(0, 100),
	"selfplay.temperature.visit_offset":     within(-1e6, 1e6),
	"selfplay.playout_cap.full_probability": above(0, share), "selfplay.playout_cap.cheap_simulations": within(1, 1e8),
	"selfplay.policy_surprise": within(0, share), "selfplay.forks.early": within(0, share), "selfplay.forks.late": within(0, share),
	"selfplay.forks.side_positions": within(0, share), "selfplay.forks.early_plies": above(0, 1e6), "selfplay.reduced_visits.simulations": within(0, 1e8),
	"selfplay.reduced_visits.q": above(0, share), "selfplay.reduced_visits.plies": within(1, 1000),
	"selfplay.reduced_visits.weight": within(0, share), "selfplay.odds.probability": within(0, share),
	"selfplay.odds.factor": within(1, 1e6), "selfplay.pools": within(1, 2), "selfplay.pgn_share": within(0, share),

	"mcts.simulations": within(1, 1e8), "mcts.playouts": within(0, 1e8), "mcts.cpuct": above(0, 1000),
	"mcts.cpuct_base": above(0, 1e12), "mcts.cpuct_factor": within(0, 1000), "mcts.fpu_reduction": within(0, 2),
	"mcts.root_fpu_reduction": within(0, 2), "mcts.noisy_root_fpu_reduction": within(0, 2),
	"mcts.fpu_value": within(-1, 1), "mcts.noise_epsilon": within(0, share), "mcts.noise_alpha": above(0, 1e6),
	"mcts.leaves_per_game": within(1, 32768), "mcts.virtual_loss": within(0, 1000), "mcts.cache_entries": within(0, 1e8),
	"mcts.forced_playouts": within(0, 1000), "mcts.gumbel.candidates": within(1, 256), "mcts.gumbel.scale": within(0, 100),
	"mcts.gumbel.value_scale": within(0, 1000), "mcts.gumbel.max_visit_init": within(0, 1e6),
	"mcts.moves_left.max_effect": within(0, 1), "mcts.moves_left.slope": within(0, 1), "mcts.moves_left.threshold": within(0, 1),

	"model.arch.version": within(1, 1), "model.arch.input_format": within(1, 1),
	"model.arch.conv_tower.filters": within(1, 4096), "model.arch.conv_tower.blocks": within(1, 256),
	"model.arch.conv_tower.se_ratio": within(0, 4096), "model.arch.value_channels": within(1, 4096),
	"model.arch.value_hidden": within(1, 65536), "model.arch.moves_left_channels": within(1, 4096),
	"model.arch.moves_left_hidden": within(1, 65536),

	"training.threads": within(0, 4096), "training.batch_size": within(1, 65536),
	"training.grad_accum_steps": within(1, 65536), "training.steps_per_episode": within(1, 1e6),
	"training.steps": within(0, manySteps), "training.lr": within(0, 100),
	"training.lr_rule[].starting_step": within(0, manySteps), "training.lr_rule[].duration_steps[]": within(0, manySteps),
	"training.lr_rule[].lr[]": within(0, 100), "training.warmup.steps": within(0, manySteps),
	"training.momentum": below(0, 1), "training.beta1": below(0, 1), "training.beta2": below(0, 1),
	"training.epsilon": above(0, 1), "training.weight_decay": within(0, 1000), "training.clip_norm": within(0, 1e9),
	"training.bn_momentum": above(0, 1), "training.st_theta": within(0, 1), "training.losses[].q_ratio": within(0, share),
	"training.losses[].weight": within(0, 1e6), "training.swa.period": within(0, manySteps),
	"training.swa.max_averages": within(1, 1e6), "training.replay_size": within(1, 1e11),
	"training.validation.share": below(0, 1), "training.validation.every": within(0, manySteps),
	"training.validation.max_rows": within(1, 1e8), "training.checkpoint.interval": within(1, 1e12),
	"training.checkpoint.interval_steps": within(1, manySteps), "training.checkpoint.keep_last": within(1, 1e6),
	"training.checkpoint.keep_every": within(0, 1e6),

	"training.bucket.per_new_row": within(0, 1e6), "training.bucket.size": within(1, manySteps),
	"training.samples_per_epoch": within(0, manySteps), "training.epochs_per_export": within(0, 1e6),
	"training.max_epochs_this_instance": within(0, 1e12), "training.lr_scale": above(0, 1e6),
	"training.schedule.steps_per_network": within(0, manySteps), "training.schedule.chunks_per_network": within(0, manySteps),

	"loop.cycles": within(0, 1e9), "loop.games": within(0, 1e12), "loop.hours": within(0, 1e6), "loop.elo": within(-1e5, 1e5),
	"loop.games_per_cycle": within(1, 1e12), "loop.samples_per_cycle": within(1, manySteps),
	"loop.shuffle.min_rows": within(1, 1e12), "loop.shuffle.max_rows": within(0, 1e12), "loop.shuffle.keep_target_rows": within(0, 1e12),
	"loop.shuffle.expand_window_per_row": within(0, 1e6), "loop.shuffle.taper_window_exponent": above(0, 1),
	"loop.shuffle.taper_window_scale": within(0, 1e12), "loop.shuffle.add_to_data_rows": within(0, 1e12),
	"loop.shuffle.approx_rows_per_file": within(1, 1e9),
	"loop.gatekeeper.games":             within(2, 1e6), "loop.gatekeeper.required_win_prop": within(0, share),
	"loop.gatekeeper.visits": within(1, 1e8), "loop.gatekeeper.opening_plies": within(0, 1000), "loop.gatekeeper.max_plies": within(2, 20000),
	"loop.gatekeeper.workers": within(0, 1024), "loop.gatekeeper.temperature": within(0, 100), "loop.gatekeeper.temperature_plies": within(0, 1e5),
	"loop.gatekeeper.sprt.elo0": within(-2000, 2000), "loop.gatekeeper.sprt.elo1": within(-2000, 2000),
	"loop.gatekeeper.sprt.alpha": {low: 0, high: 0.5, lowOpen: true, highOpen: true}, "loop.gatekeeper.sprt.beta": {low: 0, high: 0.5, lowOpen: true, highOpen: true},
	"loop.rating.games": within(0, 1e6), "loop.rating.opponents": within(0, 1000), "loop.rating.engine_nodes[]": within(1, 1e12),
	"loop.rating.engine_skill[]": within(0, 100), "loop.rating.visits": within(1, 1e8),
	"loop.retention.shuffles": within(1, 1e6), "loop.retention.rejected": within(0, 1e6), "loop.retention.game_rows": within(0, 1e15),
	"loop.retention.game_days": within(0, 1e5), "loop.retention.max_gib": within(0, 1e9), "loop.retention.gate_pgns": within(0, 1e6),
	"loop.retention.models": within(0, 1e6),

	"metrics.every": within(1, 1e9), "export.every_checkpoints": within(0, 1e6), "export.keep": within(0, 1e6),
	"data_loader.stage[].queue.capacity": within(1, 1e6), "data_loader.stage[].file_path_provider.poll_seconds": above(0, 86400),
	"data_loader.stage[].chunk_source_reader.threads":                       within(1, 1024),
	"data_loader.stage[].chunk_source_splitter.output[].weight":             within(0, 1e9),
	"data_loader.stage[].shuffling_chunk_pool.chunk_pool_size":              within(1, 1e9),
	"data_loader.stage[].shuffling_chunk_pool.threads":                      within(1, 1024),
	"data_loader.stage[].shuffling_chunk_pool.epochs":                       within(0, 1e6),
	"data_loader.stage[].shuffling_chunk_pool.hanse_sampling_threshold":     within(0, 1e6),
	"data_loader.stage[].shuffling_chunk_pool.hanse_sampling_gamma":         within(0, 100),
	"data_loader.stage[].shuffling_chunk_pool.store_mib":                    within(0, 1e7),
	"data_loader.stage[].simple_chunk_extractor.epochs":                     within(0, 1e6),
	"data_loader.stage[].chunk_rescorer.threads":                            within(1, 1024),
	"data_loader.stage[].chunk_unpacker.threads":                            within(1, 1024),
	"data_loader.stage[].chunk_unpacker.position_sampling_rate":             above(0, 1),
	"data_loader.stage[].chunk_unpacker.position_count":                     within(0, 1e5),
	"data_loader.stage[].chunk_unpacker.prefetch":                           within(0, 1e5),
	"data_loader.stage[].shuffling_frame_sampler.threads":                   within(1, 1024),
	"data_loader.stage[].shuffling_frame_sampler.reservoir_size_per_thread": within(1, 1e9),
	"data_loader.stage[].tensor_generator.threads":                          within(1, 1024),
	"data_loader.stage[].tensor_generator.batch_size":                       within(1, 65536),
	"data_loader.stage[].shuffling_chunk_pool.position_weight.q_weight":     within(0, 1e6), "data_loader.stage[].shuffling_chunk_pool.position_weight.pol_scale": within(0, 1e6),
	"data_loader.stage[].shuffling_chunk_pool.position_weight.alpha": within(0, 1e6), "data_loader.stage[].shuffling_chunk_pool.position_weight.beta": above(0, 1e6),
	"data_loader.stage[].shuffling_chunk_pool.position_weight.gamma": within(0, 100), "data_loader.stage[].shuffling_chunk_pool.position_weight.tau": above(0, 1e6),
	"data_loader.stage[].chunk_unpacker.position_weight.q_weight": within(0, 1e6), "data_loader.stage[].chunk_unpacker.position_weight.pol_scale": within(0, 1e6),
	"data_loader.stage[].chunk_unpacker.position_weight.alpha": within(0, 1e6), "data_loader.stage[].chunk_unpacker.position_weight.beta": above(0, 1e6),
	"data_loader.stage[].chunk_unpacker.position_weight.gamma": within(0, 100), "data_loader.stage[].chunk_unpacker.position_weight.tau": above(0, 1e6),

	"data_loader.stage[].plugin.threads": within(1, 1024), "data_loader.stage[].plugin.batch": within(1, 4096),

	"plugins.start_timeout_seconds": above(0, 86400), "plugins.call_timeout_seconds": above(0, 86400), "plugins.restarts": within(1, 1000),

	"log.every_seconds": above(0, 86400), "log.max_mib": within(1, 1e6), "log.keep": within(0, 1000),
}

// refusedWords are enum values whose code comes later.
var refusedWords = map[protoreflect.FullName]bool{
	"chessbrain.config.v1.Arch.ATTENTION": true,
}

// validate checks every value, and values against each other.
func (e *Effective) validate() (bad Errors) {
	complain := func(path, value, remedy, format string, args ...any) {
		bad = append(bad, &Error{Where: e.Origin(path), Field: path, Value: value, Reason: reasonf(format, args...), Remedy: remedy})
	}
	walk(e.Config.ProtoReflect(), "", func(path string, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
		if x, ok := numberOf(fd, v); ok {
			if r, known := ranges[anyIndex.ReplaceAllString(path, "[]")]; known && !r.holds(x) {
				complain(path, scalarText(fd, v), r.String(), "out of range")
			}
		} else if fd.Enum() != nil {
			if ev := fd.Enum().Values().ByNumber(v.Enum()); ev == nil || refusedWords[protoreflect.FullName(string(fd.Enum().FullName().Parent())+"."+scalarText(fd, v))] {
				complain(path, scalarText(fd, v), "", notInThisBuild)
			}
		}
	})
	c := e.Config
	e.validateNames(complain)
	validateTraining(c.GetTraining(), complain)
	validateLoop(c.GetLoop(), complain)
	e.validateSource(complain)
	validateStages(c, complain)
	for i, p := range c.GetSelfplay().GetOpenings().GetPositions() {
		if p.GetFen() == "" {
			complain(reasonf("selfplay.openings.positions[%d]", i), "", "give it a fen", "no start position")
		}
	}
	tower := c.GetModel().GetArch().GetConvTower()
	if tower.GetSeRatio() > tower.GetFilters() {
		complain("model.arch.conv_tower.se_ratio", strconv.Itoa(int(tower.GetSeRatio())), "take 4, or 0 for none", "above the %d filters", tower.GetFilters())
	}
	return bad
}

var anyIndex = regexp.MustCompile(`\[\d+\]`)

// walk calls fn with every single value that is set below m, in schema order.
func walk(m protoreflect.Message, prefix string, fn func(string, protoreflect.FieldDescriptor, protoreflect.Value)) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		path := join(prefix, string(fd.Name()))
		switch v := m.Get(fd); {
		case !m.Has(fd) || fd.IsMap():
		case fd.IsList():
			for k := range v.List().Len() {
				if at := reasonf("%s[%d]", path, k); fd.Message() != nil {
					walk(v.List().Get(k).Message(), at, fn)
				} else {
					fn(at, fd, v.List().Get(k))
				}
			}
		case fd.Message() != nil:
			walk(v.Message(), path, fn)
		default:
			fn(path, fd, v)
		}
	}
}

// numberOf returns a numeric value, ok = false for other kinds.
func numberOf(fd protoreflect.FieldDescriptor, v protoreflect.Value) (x float64, ok bool) {
	switch fd.Kind() {
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return float64(v.Int()), true
	case protoreflect.Uint64Kind:
		return float64(v.Uint()), true
	case protoreflect.DoubleKind:
		return v.Float(), true
	}
	return 0, false
}

// complainFunc takes a fault: path, value, remedy, reason.
type complainFunc func(path, value, remedy, format string, args ...any)

var (
	idPattern     = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)
	stagePattern  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)
	devicePattern = regexp.MustCompile(`^(auto|cpu|cuda(:[0-9]{1,3})?)$`)
)

// validateNames checks ids, devices, paths and addresses.
func (e *Effective) validateNames(complain complainFunc) {
	c, t, m := e.Config, e.Config.GetTraining(), e.Config.GetMetrics()
	if id := c.GetJobId(); id != "" && !idPattern.MatchString(id) {
		complain("job_id", quote(id), "", "an id has 1 to 40 of A-Z a-z 0-9 _ -")
	}
	if n := t.GetTrainingName(); !idPattern.MatchString(n) {
		complain("training.training_name", quote(n), "", "a name has 1 to 40 of A-Z a-z 0-9 _ -")
	}
	if c.GetRunDir() == "" {
		complain("run_dir", "", "give a directory", "is empty")
	}
	for _, path := range []string{"training.device", "selfplay.producer_device"} {
		m, fd := parentOf(c, path)
		switch device := m.Get(fd).String(); {
		case device == "mps":
			complain(path, quote(device), "use cpu", "no Metal backend")
		case !devicePattern.MatchString(device):
			complain(path, quote(device), "wanted is auto, cpu, cuda or cuda:N", "no such kind of device")
		}
	}
	if addr := m.GetAddr(); addr != "" {
		host, port, err := net.SplitHostPort(addr)
		if n, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || n > math.MaxUint16 {
			complain("metrics.addr", quote(addr), "write HOST:PORT, for example 127.0.0.1:9464", "not an address")
		} else if !loopback(host) && (!m.GetPublic() || m.GetTokenFile() == "") {
			complain("metrics.addr", quote(addr), "use 127.0.0.1, or --metrics-public with --metrics-token-file", "other machines could read it")
		}
	}
	if p := filepath.ToSlash(c.GetExport().GetPath()); p == "" || slices.Contains(strings.Split(p, "/"), "..") {
		complain("export.path", quote(p), "", "must not be empty or hold ..")
	}
	for _, hole := range regexp.MustCompile(`\{[^}]*\}?`).FindAllString(c.GetExport().GetPath(), -1) {
		if !slices.Contains([]string{"{job}", "{training}", "{samples}", "{rows}", "{step}", "{datetime}"}, hole) {
			complain("export.path", quote(c.GetExport().GetPath()), "known: {job} {training} {samples} {rows} {step} {datetime}", "%s means nothing", hole)
		}
	}
}

// loopback says whether only this machine can reach a host name.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// validateSource refuses what the chosen source of games cannot honour.
func (e *Effective) validateSource(complain complainFunc) {
	source := e.Config.GetTraining().GetSource()
	for i := range flagTable {
		f := &flagTable[i]
		if f.Group == GroupEpisodes && source != Training_SELFPLAY && e.given[f.Name] {
			complain(f.Path, "", "leave it away", "--%s has no meaning with --source %s", f.Name, Word(source))
		}
	}
	for _, name := range []string{"steps", "source-dir", "checkpoint-steps"} {
		if source == Training_SELFPLAY && e.given[name] {
			complain("training.source", "", "leave it away, or use --source dir", "--%s has no meaning with --source selfplay", name)
		}
	}
}

// validateStages refuses names that no stage can have. Which stages there are,
// built in and as programs, only those who make them know.
func validateStages(c *Config, complain complainFunc) {
	check := func(path, kind, name string) {
		if !stagePattern.MatchString(name) {
			complain(path, quote(name), "a stage has 1 to 40 of a-z 0-9 -", "no name of a stage of kind %s", kind)
		}
	}
	for i, s := range c.GetPlugins().GetRescorer() {
		check(reasonf("plugins.rescorer[%d].name", i), "rescorer", s.GetName())
	}
	check("plugins.sampler.name", "sampler", c.GetPlugins().GetSampler().GetName())
	check("export.exporter", "exporter", c.GetExport().GetExporter())
	if name := c.GetExport().GetPublisher(); name != "directory" {
		complain("export.publisher", quote(name), "known: directory", "no such publisher: %s", notInThisBuild)
	}
	for i, dir := range c.GetPlugins().GetDir() {
		if dir == "" {
			complain(reasonf("plugins.dir[%d]", i), quote(dir), "name a directory", "is empty")
		}
	}
}
