package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// demoScript is the script of the seeds' users.
const demoScript = "../../scripts/demo/run_training_cycle.sh"

// find returns the command with a path below the root.
func find(t *testing.T, path string) *cobra.Command {
	t.Helper()
	c, rest, err := newRoot().Find(strings.Fields(path))
	if err != nil || len(rest) > 0 || (path != "" && c.Parent() == nil) {
		t.Fatalf("no command %q", path)
	}
	return c
}

// TestTrainDefaults holds the names and defaults that users of the seeds'
// commands know.
func TestTrainDefaults(t *testing.T) {
	train := find(t, "train")
	for name, want := range map[string]string{
		"episodes": "4", "batch-size": "16", "checkpoint-interval": "2", "exploration-rate": "0.1", "seed": "7",
		"grad-accum-steps": "1", "mcts-simulations": "32", "mcts-cpuct": "1.5", "producer-workers": "0",
		"producer-queue-size": "16", "producer-device": "cpu", "device": "auto", "dry-run": "false",
	} {
		f := train.Flags().Lookup(name)
		if f == nil {
			t.Errorf("no flag --%s", name)
		} else if f.DefValue != want {
			t.Errorf("--%s is %s by default, want %s", name, f.DefValue, want)
		}
	}
	for _, name := range []string{
		"no-amp", "amp", "precision", "run-dir", "config", "net", "lr", "optimizer", "replay-size", "train-steps-per-episode", "max-plies",
		"resign-q", "temperature", "noise", "deterministic", "metrics-addr", "log-level", "log-file", "log-format", "log-every",
		"quiet", "job-id", "devices", "source", "rescorer", "sampler", "exporter", "plugin-dir", "on-plugin-failure", "validate-every",
	} {
		if train.Flags().Lookup(name) == nil {
			t.Errorf("no flag --%s", name)
		}
	}
	if f := train.Flags().Lookup("no-amp"); f.NoOptDefVal == "" || f.DefValue == "true" {
		t.Errorf("--no-amp wants a value, or is on by default")
	}
}

// TestEnvironment sets each variable and reads it back from the effective
// configuration of a dry run.
func TestEnvironment(t *testing.T) {
	for name, c := range map[string]struct{ value, want string }{
		"EPISODES": {"41", "episodes: 41"}, "BATCH_SIZE": {"42", "batch_size: 42"}, "CHECKPOINT_INTERVAL": {"43", "interval: 43"},
		"EXPLORATION_RATE": {"0.44", "exploration_rate: 0.44"}, "SEED": {"45", "seed: 45"},
		"GRAD_ACCUM_STEPS": {"46", "grad_accum_steps: 46"}, "MCTS_SIMULATIONS": {"47", "simulations: 47"},
		"MCTS_CPUCT": {"4.8", "cpuct: 4.8"}, "PRODUCER_WORKERS": {"4", "producer_workers: 4"},
		"PRODUCER_QUEUE_SIZE": {"49", "producer_queue_size: 49"}, "PRODUCER_DEVICE": {"auto", `producer_device: "auto"`},
		"NO_AMP": {"1", "amp: OFF"}, "MODEL_CHECKPOINT_DIR": {"c", `dir: "c"`}, "TENSORBOARD_LOG_DIR": {"m", `dir: "m"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			t.Setenv(name, c.value)
			root, out := newRoot(), new(bytes.Buffer)
			root.SetOut(out)
			root.SetErr(io.Discard)
			root.SetArgs([]string{"train", "--dry-run"})
			if err := root.Execute(); err != nil {
				t.Fatal(err)
			}
			want := c.want + "  # environment variable " + name
			if !strings.Contains(out.String(), want+"\n") {
				t.Errorf("no line %q in the effective configuration", want)
			}
		})
	}
}

// TestCommands holds the commands that the seeds' users are told of.
func TestCommands(t *testing.T) {
	for _, path := range []string{
		"train", "selfplay", "export", "match", "describe", "report", "ctl", "uci", "bench", "bench kernels", "bench infer", "bench train", "bench selfplay", "bench precision", "perft", "exam starts", "exam measure", "doctor", "version",
		"shuffle", "import-pgn", "rescore", "positions", "pin", "verify", "test-dataloader", "dataloader-graph", "bench loader",
		"dump-chunk", "filter-chunks", "result-distribution", "position-weights", "startpos-policy", "import-net", "export-net", "probe", "net-math", "grow",
		"pipeline", "pipeline sweep", "init", "eval", "overfit", "tune-lr", "train-epoch", "migrate-checkpoint", "backfill-metrics",
		"plugins", "plugins list", "plugins describe", "plugins lock", "plugins verify", "plugins test", "plugins swap", "bench plugins",
	} {
		find(t, path)
	}
	for command, flags := range map[string]string{
		"perft": "depth fen divide", "uci": "net visits precision threads option", "bench precision": "net-file positions seed json", "bench infer": "net batch threads tier precision duration json", "match": "player1 player2 games openings openings-order opening-plies book-plies seed workers parallel max-plies pgn json precision visits player1.visits player2.gumbel white.visits black.cpuct", "describe": "json", "report": "output", "exam starts": "count seed output staged",
		"exam measure": "net visits moves questions mates seed untrained json precision", "selfplay": "precision no-amp process max-games-total models-dir output-dir override-config metrics-addr run-dir config dry-run", "train": "source source-dir steps lr-scale max-train-bucket-per-new-data max-train-bucket-size stop-when-train-bucket-limited no-repeat-files quit-if-no-data samples-per-epoch epochs-per-export max-epochs-this-instance export-mode steps-per-network chunks-per-network lock-wait",
		"export":     "models-dir output-dir gating once poll exporter export-weights lock-wait run-dir config dry-run json",
		"shuffle":    "input-dir output-dir scratch-dir num-threads min-rows max-rows keep-target-rows expand-window-per-row taper-window-exponent taper-window-scale add-to-data-rows approx-rows-per-file seed dry-run json",
		"dump-chunk": "member json", "filter-chunks": "out result end min-plies max-plies min-positions version input-format startpos distinct limit dry-run json",
		"import-pgn": "out target label-smoothing policy-temperature draw-rate lc0-chunks strict json", "rescore": "out rescorer set plugin-dir format net visits share gumbel workers json",
		"import-net": "out", "export-net": "out format encoding fold exporter set plugin-dir games", "probe": "net position json", "net-math": "net out", "grow": "net out format seed json",
		"plugins list": "plugin-dir run-dir json", "plugins describe": "plugin-dir run-dir kind json", "plugins lock": "plugin-dir run-dir file json", "plugins verify": "plugin-dir run-dir file json",
		"plugins test": "plugin-dir run-dir kind set seed json", "plugins swap": "process set", "bench plugins": "seconds program set json",
		"bench loader": "mode games dir json", "init": "config seed", "verify": "json", "positions": "out position-selector",
	} {
		for name := range strings.FieldsSeq(flags) {
			if find(t, command).Flags().Lookup(name) == nil {
				t.Errorf("%s has no flag --%s", command, name)
			}
		}
	}
}

// TestHelpTexts holds that every command says in a line what it does, and that
// every flag has a text.
func TestHelpTexts(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short text %q", c.CommandPath(), c.Short)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s has no text", c.CommandPath(), f.Name)
			}
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot())
}

// TestDemoScriptNamesEveryVariable holds the script's comment against the flags.
func TestDemoScriptNamesEveryVariable(t *testing.T) {
	text := filetest.Read(t, demoScript)
	for _, v := range config.NewFlagSet(config.TrainGroups...).Values() {
		if env := v.Flag().Env; !strings.Contains(string(text), env) {
			t.Errorf("%s does not name %s", demoScript, env)
		}
	}
}
