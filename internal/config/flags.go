package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Group is a set of flags that belong together; a command takes the groups that
// it can honour.
type Group string

// The groups.
const (
	GroupRun       Group = "run"       // run directory, job, seed
	GroupPrecision Group = "precision" // of products, in training and self-play
	GroupSelfPlay  Group = "selfplay"  // how games are played
	GroupEpisodes  Group = "episodes"  // training that counts its own games
	GroupSearch    Group = "search"
	GroupModel     Group = "model"
	GroupTraining  Group = "training"
	GroupSource    Group = "source" // where a trainer's rows come from
	GroupMetrics   Group = "metrics"
	GroupPlugins   Group = "plugins" // programs with stages, and the rescorers
	GroupStages    Group = "stages"  // the stages that only a trainer has
	GroupExporter  Group = "exporter"
	GroupPlayer    Group = "player"     // a process that only plays
	GroupLoop      Group = "loop"       // the cycle of chessbrain run
	GroupGate      Group = "gatekeeper" // the match of chessbrain gatekeeper, which plays nothing else
	GroupRetention Group = "retention"  // what chessbrain gc keeps
	GroupLog       Group = "log"
)

// Groups of the commands.
var (
	TrainGroups = []Group{GroupRun, GroupPrecision, GroupEpisodes, GroupSelfPlay, GroupSearch, GroupModel, GroupSource, GroupTraining, GroupMetrics, GroupPlugins, GroupStages, GroupExporter, GroupLog}
	// RunGroups are without GroupSource: a cycle trains on its own shuffles.
	RunGroups        = []Group{GroupRun, GroupLoop, GroupRetention, GroupPrecision, GroupSelfPlay, GroupSearch, GroupModel, GroupTraining, GroupMetrics, GroupPlugins, GroupStages, GroupExporter, GroupLog}
	GatekeeperGroups = []Group{GroupRun, GroupGate, GroupPrecision, GroupPlugins, GroupLog}
	ExportGroups     = []Group{GroupRun, GroupPlugins, GroupExporter, GroupLog}
	GCGroups         = []Group{GroupRun, GroupRetention, GroupLog}
	SelfPlayGroups   = []Group{GroupRun, GroupPrecision, GroupPlayer, GroupSelfPlay, GroupSearch, GroupModel, GroupMetrics, GroupPlugins, GroupLog}
)

// Flag describes one command-line flag that sets a field of the configuration.
type Flag struct {
	Name  string
	Env   string // variable that sets it too; empty = none
	Path  string // field that it sets, such as training.batch_size
	Group Group
	Usage string // from the schema's comment where the table has none

	valued bool   // a boolean that is always followed by a value: --gating 0
	fixed  string // a switch: the value that it gives the field when on
	words  bool   // a switch that takes the field's words too
	clears string // list field that it overrides
	split  bool   // the field is a list of named stages, separated by commas
	list   bool   // the field is a list of paths: the flag may come several times, and text holds them as PATH does
}

// JoinWords writes --amp bf16 as --amp=bf16: to the flag packages a switch that takes
// words has no value in the next argument.
func JoinWords(args []string) []string {
	var joined []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(joined, args[i:]...)
		}
		joined = append(joined, args[i])
		for k := range flagTable {
			f := &flagTable[k]
			if !f.words || args[i] != "--"+f.Name || i+1 == len(args) {
				continue
			}
			if _, fd := parentOf(Defaults(), f.Path); isWord(fd, args[i+1]) {
				joined[len(joined)-1] += "=" + args[i+1]
				i++
			}
			break
		}
	}
	return joined
}

func isWord(fd protoreflect.FieldDescriptor, text string) bool {
	_, err := parseValue(fd, text)
	return err == nil
}

// Switch says whether the flag needs no value.
func (f *Flag) Switch() bool { return f.fixed != "" || f.kind() == "bool" && !f.valued }

// flagTable is every flag of the configuration. The names of flags and
// variables are promises to scripts: they do not change.
var flagTable = []Flag{
	{Name: "run-dir", Path: "run_dir", Group: GroupRun},
	{Name: "name", Path: "name", Group: GroupRun, Usage: "name of the run, any text"},
	{Name: "job-id", Path: "job_id", Group: GroupRun},
	{Name: "seed", Env: "SEED", Path: "seed", Group: GroupRun},
	{Name: "deterministic", Path: "deterministic", Group: GroupRun},

	{Name: "episodes", Env: "EPISODES", Path: "selfplay.episodes", Group: GroupEpisodes},
	{Name: "checkpoint-interval", Env: "CHECKPOINT_INTERVAL", Path: "training.checkpoint.interval", Group: GroupEpisodes},
	{Name: "producer-workers", Env: "PRODUCER_WORKERS", Path: "selfplay.producer_workers", Group: GroupEpisodes},
	{Name: "producer-queue-size", Env: "PRODUCER_QUEUE_SIZE", Path: "selfplay.producer_queue_size", Group: GroupEpisodes},
	{Name: "cohort-size", Path: "selfplay.cohort_size", Group: GroupEpisodes},
	{Name: "train-steps-per-episode", Path: "training.steps_per_episode", Group: GroupEpisodes},

	{Name: "precision", Path: "selfplay.precision", Group: GroupPrecision},
	{Name: "no-amp", Env: "NO_AMP", Path: "training.amp", fixed: "OFF", Group: GroupPrecision, Usage: "Use fp32 everywhere, in training and in self-play"},
	{Name: "amp", Path: "training.amp", fixed: "ON", words: true, Group: GroupPrecision, Usage: "Mixed precision: bf16, fp16 (GPUs, with loss scaling) or off; alone it means bf16. The device that lacks it computes in fp32, with a warning (without the flag: bf16 where it has it)"},

	{Name: "producer-device", Env: "PRODUCER_DEVICE", Path: "selfplay.producer_device", Group: GroupSelfPlay},
	{Name: "games-per-worker", Path: "selfplay.games_per_worker", Group: GroupSelfPlay},
	{Name: "exploration-rate", Env: "EXPLORATION_RATE", Path: "selfplay.exploration_rate", Group: GroupSelfPlay},
	{Name: "temperature", Path: "selfplay.temperature.start", Group: GroupSelfPlay},
	{Name: "temperature-plies", Path: "selfplay.temperature.plies", Group: GroupSelfPlay},
	{Name: "temperature-floor", Path: "selfplay.temperature.floor", Group: GroupSelfPlay},
	{Name: "resign-q", Path: "selfplay.resign.q", Group: GroupSelfPlay},
	{Name: "resign-plies", Path: "selfplay.resign.plies", Group: GroupSelfPlay},
	{Name: "resign-playthrough", Path: "selfplay.resign.playthrough", Group: GroupSelfPlay},
	{Name: "max-plies", Path: "selfplay.max_plies", Group: GroupSelfPlay},
	{Name: "max-plies-material", Path: "selfplay.max_plies_material", Group: GroupSelfPlay},
	{Name: "openings", Path: "selfplay.openings.file", Group: GroupSelfPlay},
	{Name: "openings-order", Path: "selfplay.openings.order", Group: GroupSelfPlay},
	{Name: "random-plies", Path: "selfplay.openings.random_plies", Group: GroupSelfPlay},
	{Name: "policy-plies", Path: "selfplay.openings.policy_plies", Group: GroupSelfPlay},
	{Name: "max-plies-schedule", Path: "selfplay.max_plies_schedule", Group: GroupSelfPlay},
	{Name: "simulations-schedule", Path: "selfplay.simulations_schedule", Group: GroupSelfPlay},
	{Name: "full-search-probability", Path: "selfplay.playout_cap.full_probability", Group: GroupSelfPlay},
	{Name: "cheap-simulations", Path: "selfplay.playout_cap.cheap_simulations", Group: GroupSelfPlay},
	{Name: "policy-surprise", Path: "selfplay.policy_surprise", Group: GroupSelfPlay},
	{Name: "pgn-share", Path: "selfplay.pgn_share", Group: GroupSelfPlay},
	{Name: "lc0-chunks", Path: "selfplay.lc0_chunks", Group: GroupSelfPlay},

	{Name: "device", Path: "selfplay.producer_device", Group: GroupPlayer, Usage: "same as --producer-device"},
	{Name: "models-dir", Path: "selfplay.models_dir", Group: GroupPlayer},
	{Name: "output-dir", Path: "selfplay.output_dir", Group: GroupPlayer},
	{Name: "producer-workers", Env: "PRODUCER_WORKERS", Path: "selfplay.producer_workers", Group: GroupPlayer, Usage: "goroutines that play, each with games of its own; 0 = one a core"},

	{Name: "mcts-simulations", Env: "MCTS_SIMULATIONS", Path: "mcts.simulations", Group: GroupSearch},
	{Name: "playouts", Path: "mcts.playouts", Group: GroupSearch},
	{Name: "mcts-cpuct", Env: "MCTS_CPUCT", Path: "mcts.cpuct", Group: GroupSearch},
	{Name: "cpuct-form", Path: "mcts.cpuct_form", Group: GroupSearch},
	{Name: "noise", Path: "mcts.noise_epsilon", Group: GroupSearch},
	{Name: "noise-alpha", Path: "mcts.noise_alpha", Group: GroupSearch},
	{Name: "forced-playouts", Path: "mcts.forced_playouts", Group: GroupSearch},
	{Name: "gumbel", Path: "mcts.gumbel.enabled", Group: GroupSearch},
	{Name: "gumbel-candidates", Path: "mcts.gumbel.candidates", Group: GroupSearch},
	{Name: "syzygy-path", Path: "mcts.syzygy_path", Group: GroupSearch},

	{Name: "net", Path: "model.net", Group: GroupModel, Usage: "model kind (b6c64), filters x blocks (64x6), or a net file to start from (default 32x4 with squeeze-and-excitation)"},
	{Name: "net-kinds", Path: "model.kinds_file", Group: GroupModel},

	{Name: "source", Path: "training.source", Group: GroupSource},
	{Name: "source-dir", Path: "training.source_dir", Group: GroupSource},
	{Name: "training-name", Path: "training.training_name", Group: GroupTraining},
	{Name: "device", Path: "training.device", Group: GroupTraining},
	{Name: "devices", Path: "training.device", Group: GroupTraining, Usage: "A,B: short for --device A --producer-device B"},
	{Name: "threads", Path: "training.threads", Group: GroupTraining},
	{Name: "batch-size", Env: "BATCH_SIZE", Path: "training.batch_size", Group: GroupTraining},
	{Name: "grad-accum-steps", Env: "GRAD_ACCUM_STEPS", Path: "training.grad_accum_steps", Group: GroupTraining},
	{Name: "steps", Path: "training.steps", Group: GroupSource},
	{Name: "lr", Path: "training.lr", clears: "training.lr_rule", Group: GroupTraining, Usage: "Constant learning rate; overrides the rules of a file."},
	{Name: "warmup-steps", Path: "training.warmup.steps", Group: GroupTraining},
	{Name: "optimizer", Path: "training.optimizer", Group: GroupTraining},
	{Name: "weight-decay", Path: "training.weight_decay", Group: GroupTraining},
	{Name: "clip-norm", Path: "training.clip_norm", Group: GroupTraining},
	{Name: "swa-period", Path: "training.swa.period", Group: GroupTraining},
	{Name: "replay-size", Path: "training.replay_size", Group: GroupTraining},
	{Name: "symmetries", Path: "training.symmetries", Group: GroupTraining},
	{Name: "validation-share", Path: "training.validation.share", Group: GroupTraining},
	{Name: "validate-every", Path: "training.validation.every", Group: GroupTraining},
	{Name: "checkpoint-steps", Path: "training.checkpoint.interval_steps", Group: GroupTraining},
	{Name: "keep-checkpoints", Path: "training.checkpoint.keep_last", Group: GroupTraining},
	{Name: "checkpoint-dir", Env: "MODEL_CHECKPOINT_DIR", Path: "training.checkpoint.dir", Group: GroupTraining},

	{Name: "max-train-bucket-per-new-data", Path: "training.bucket.per_new_row", Group: GroupTraining},
	{Name: "max-train-bucket-size", Path: "training.bucket.size", Group: GroupTraining},
	{Name: "stop-when-train-bucket-limited", Path: "training.bucket.stop_when_limited", Group: GroupSource},
	{Name: "no-repeat-files", Path: "training.no_repeat_files", Group: GroupTraining},
	{Name: "quit-if-no-data", Path: "training.quit_if_no_data", Group: GroupSource},
	{Name: "samples-per-epoch", Path: "training.samples_per_epoch", Group: GroupTraining},
	{Name: "epochs-per-export", Path: "training.epochs_per_export", Group: GroupTraining},
	{Name: "max-epochs-this-instance", Path: "training.max_epochs_this_instance", Group: GroupSource},
	{Name: "export-mode", Path: "training.export_mode", Group: GroupSource},
	{Name: "lr-scale", Path: "training.lr_scale", Group: GroupTraining},
	{Name: "steps-per-network", Path: "training.schedule.steps_per_network", Group: GroupSource},
	{Name: "chunks-per-network", Path: "training.schedule.chunks_per_network", Group: GroupSource},

	{Name: "cycles", Path: "loop.cycles", Group: GroupLoop},
	{Name: "games", Path: "loop.games", Group: GroupLoop},
	{Name: "hours", Path: "loop.hours", Group: GroupLoop},
	{Name: "elo", Path: "loop.elo", Group: GroupLoop},
	{Name: "games-per-cycle", Path: "loop.games_per_cycle", Group: GroupLoop},
	{Name: "gating", Path: "loop.gating", valued: true, Group: GroupLoop},
	{Name: "samples-per-cycle", Path: "loop.samples_per_cycle", Group: GroupLoop},
	{Name: "producer-workers", Env: "PRODUCER_WORKERS", Path: "selfplay.producer_workers", Group: GroupLoop, Usage: "goroutines that play in self-play, each with games of its own; 0 = one a core"},
	{Name: "min-rows", Path: "loop.shuffle.min_rows", Group: GroupLoop},
	{Name: "max-rows", Path: "loop.shuffle.max_rows", Group: GroupLoop},
	{Name: "keep-target-rows", Path: "loop.shuffle.keep_target_rows", Group: GroupLoop},
	{Name: "expand-window-per-row", Path: "loop.shuffle.expand_window_per_row", Group: GroupLoop},
	{Name: "taper-window-exponent", Path: "loop.shuffle.taper_window_exponent", Group: GroupLoop},
	{Name: "taper-window-scale", Path: "loop.shuffle.taper_window_scale", Group: GroupLoop},
	{Name: "add-to-data-rows", Path: "loop.shuffle.add_to_data_rows", Group: GroupLoop},
	{Name: "approx-rows-per-file", Path: "loop.shuffle.approx_rows_per_file", Group: GroupLoop},
	{Name: "gate-games", Path: "loop.gatekeeper.games", Group: GroupLoop},
	{Name: "gate-visits", Path: "loop.gatekeeper.visits", Group: GroupLoop},
	{Name: "required-candidate-win-prop", Path: "loop.gatekeeper.required_win_prop", Group: GroupLoop},
	{Name: "rating-games", Path: "loop.rating.games", Group: GroupLoop},
	{Name: "rating-opponents", Path: "loop.rating.opponents", Group: GroupLoop},
	{Name: "rating-visits", Path: "loop.rating.visits", Group: GroupLoop},
	{Name: "rating-engine", Path: "loop.rating.engine", Group: GroupLoop},

	{Name: "device", Path: "selfplay.producer_device", Group: GroupGate, Usage: "where nets are evaluated: cpu, cuda, cuda:N, or auto = training.device"},
	{Name: "games", Path: "loop.gatekeeper.games", Group: GroupGate},
	{Name: "required-candidate-win-prop", Path: "loop.gatekeeper.required_win_prop", Group: GroupGate},
	{Name: "visits", Path: "loop.gatekeeper.visits", Group: GroupGate},
	{Name: "opening-plies", Path: "loop.gatekeeper.opening_plies", Group: GroupGate},
	{Name: "max-plies", Path: "loop.gatekeeper.max_plies", Group: GroupGate},
	{Name: "test-older", Path: "loop.gatekeeper.test_older", Group: GroupGate},
	{Name: "workers", Path: "loop.gatekeeper.workers", Group: GroupGate},
	{Name: "gumbel", Path: "loop.gatekeeper.gumbel", Group: GroupGate},
	{Name: "temperature", Path: "loop.gatekeeper.temperature", Group: GroupGate},
	{Name: "temperature-plies", Path: "loop.gatekeeper.temperature_plies", Group: GroupGate},
	{Name: "sprt", Path: "loop.gatekeeper.sprt.enabled", Group: GroupGate},
	{Name: "sprt-elo0", Path: "loop.gatekeeper.sprt.elo0", Group: GroupGate},
	{Name: "sprt-elo1", Path: "loop.gatekeeper.sprt.elo1", Group: GroupGate},
	{Name: "sprt-alpha", Path: "loop.gatekeeper.sprt.alpha", Group: GroupGate},
	{Name: "sprt-beta", Path: "loop.gatekeeper.sprt.beta", Group: GroupGate},

	{Name: "keep-shuffles", Path: "loop.retention.shuffles", Group: GroupRetention},
	{Name: "keep-rejected", Path: "loop.retention.rejected", Group: GroupRetention},
	{Name: "keep-game-rows", Path: "loop.retention.game_rows", Group: GroupRetention},
	{Name: "keep-game-days", Path: "loop.retention.game_days", Group: GroupRetention},
	{Name: "keep-gate-pgns", Path: "loop.retention.gate_pgns", Group: GroupRetention},
	{Name: "keep-models", Path: "loop.retention.models", Group: GroupRetention},
	{Name: "max-gib", Path: "loop.retention.max_gib", Group: GroupRetention},

	{Name: "metrics-dir", Env: "TENSORBOARD_LOG_DIR", Path: "metrics.dir", Group: GroupMetrics},
	{Name: "metrics-addr", Path: "metrics.addr", Group: GroupMetrics},
	{Name: "metrics-public", Path: "metrics.public", Group: GroupMetrics},
	{Name: "metrics-token-file", Path: "metrics.token_file", Group: GroupMetrics},

	{Name: "rescorer", Path: "plugins.rescorer", split: true, Group: GroupPlugins, Usage: "Rescorers by name, separated by commas: built in, or programs"},
	{Name: "plugin-dir", Path: "plugins.dir", list: true, Group: GroupPlugins, Usage: "Directory of programs with stages; may be given several times"},
	{Name: "on-plugin-failure", Path: "plugins.on_failure", Group: GroupPlugins, Usage: "What a program that fails for good means: stop the run, or continue without it"},
	{Name: "sampler", Path: "plugins.sampler.name", Group: GroupStages, Usage: "Sampler that draws rows from the window"},
	{Name: "exporter", Path: "export.exporter", Group: GroupExporter},
	{Name: "export-weights", Path: "export.weights", Group: GroupExporter, Usage: "Weights of exported nets: as trained (raw) or averaged (swa)"},
	{Name: "publisher", Path: "export.publisher", Group: GroupStages},

	{Name: "log-level", Path: "log.level", Group: GroupLog},
	{Name: "log-file", Path: "log_filename", Group: GroupLog},
	{Name: "log-format", Path: "log.format", Group: GroupLog},
	{Name: "log-every", Path: "log.every_seconds", Group: GroupLog},
	{Name: "quiet", Path: "log.quiet", Group: GroupLog},
}

// kind is the flag's type for help texts: int, uint, float, bool, string or the
// words of an enum.
func (f *Flag) kind() string {
	if f.words {
		return "bf16|fp16|off"
	}
	if f.fixed != "" {
		return "bool"
	}
	if f.split {
		return "names"
	}
	if f.list {
		return "directory"
	}
	fd, _ := descriptorOf(f.Path)
	return kindName(fd)
}

// apply sets the flag's fields in c from text and returns the paths that it
// changed.
func (f *Flag) apply(c *Config, text string) ([]string, error) {
	switch {
	case f.fixed != "":
		on, err := parseBool(text)
		m, fd := parentOf(c, f.Path)
		if f.words {
			if v, wordErr := parseValue(fd, text); wordErr == nil || err != nil {
				if wordErr == nil {
					m.Set(fd, v)
				}
				return []string{f.Path}, wordErr
			}
		}
		switch {
		case err != nil:
			return nil, err
		case on:
			return []string{f.Path}, setField(c, f.Path, f.fixed)
		case scalarText(fd, m.Get(fd)) == f.fixed: // takes back what a file or variable said
			m.Set(fd, fd.Default())
			return []string{f.Path}, nil
		}
		return nil, nil
	case f.Name == "devices":
		device, producers, ok := strings.Cut(text, ",")
		if !ok {
			return nil, fmt.Errorf("%q is not two devices separated by a comma", text)
		}
		return []string{"training.device", "selfplay.producer_device"},
			firstError(setField(c, "training.device", device), setField(c, "selfplay.producer_device", producers))
	case f.split:
		return []string{f.Path}, setStages(c, text)
	case f.list:
		return []string{f.Path}, setPaths(c, f.Path, text)
	}
	changed := []string{f.Path}
	if f.clears != "" {
		clearField(c, f.clears)
		changed = append(changed, f.clears)
	}
	return changed, setField(c, f.Path, text)
}

// setStages replaces the rescorers by those named in text; the settings of one
// that was there stay.
func setStages(c *Config, text string) error {
	old := map[string]*Stage{}
	for _, s := range c.GetPlugins().GetRescorer() {
		old[s.GetName()] = s
	}
	if c.Plugins == nil {
		c.Plugins = &Plugins{}
	}
	c.Plugins.Rescorer = nil
	for name := range strings.SplitSeq(text, ",") {
		if name == "" {
			return fmt.Errorf("%q has an empty name", text)
		}
		s := old[name]
		if s == nil {
			s = &Stage{Name: &name}
		}
		c.Plugins.Rescorer = append(c.Plugins.Rescorer, s)
	}
	return nil
}

// setPaths replaces a list of paths by those in text.
func setPaths(c *Config, path, text string) error {
	m, fd := parentOf(c, path)
	m.Clear(fd)
	list := m.Mutable(fd).List()
	for _, one := range filepath.SplitList(text) {
		if one == "" {
			return fmt.Errorf("%q has an empty path", text)
		}
		list.Append(protoreflect.ValueOfString(one))
	}
	if list.Len() == 0 {
		return errors.New("no path")
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
