package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// set gives flags to a fresh set, as a command would.
func set(t *testing.T, args ...string) *FlagSet {
	t.Helper()
	s := NewFlagSet(TrainGroups...)
	if err := parseFlags(s, args...); err != nil {
		t.Fatal(err)
	}
	return s
}

func parseFlags(s *FlagSet, args ...string) error {
	fs := pflag.NewFlagSet("train", pflag.ContinueOnError)
	for _, v := range s.Values() {
		fs.VarPF(v, v.Flag().Name, "", v.Flag().Usage).NoOptDefVal = v.NoOptDefVal()
	}
	return fs.Parse(args)
}

func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// TestIssueTable holds the names, variables and defaults that are promised.
func TestIssueTable(t *testing.T) {
	s := NewFlagSet(TrainGroups...)
	for _, c := range []struct{ name, def, variable string }{
		{"episodes", "4", "EPISODES"}, {"batch-size", "16", "BATCH_SIZE"},
		{"checkpoint-interval", "2", "CHECKPOINT_INTERVAL"}, {"exploration-rate", "0.1", "EXPLORATION_RATE"},
		{"seed", "7", "SEED"}, {"grad-accum-steps", "1", "GRAD_ACCUM_STEPS"},
		{"mcts-simulations", "32", "MCTS_SIMULATIONS"}, {"mcts-cpuct", "1.5", "MCTS_CPUCT"},
		{"producer-workers", "0", "PRODUCER_WORKERS"}, {"producer-queue-size", "16", "PRODUCER_QUEUE_SIZE"},
		{"producer-device", "cpu", "PRODUCER_DEVICE"}, {"no-amp", "false", "NO_AMP"}, {"device", "auto", ""},
		{"checkpoint-dir", "", "MODEL_CHECKPOINT_DIR"}, {"metrics-dir", "", "TENSORBOARD_LOG_DIR"},
		{"run-dir", "runs/chessbrain", ""}, {"net", "", ""}, {"lr", "0.02", ""}, {"optimizer", "sgd", ""},
		{"replay-size", "500000", ""}, {"train-steps-per-episode", "16", ""}, {"max-plies", "450", ""},
		{"resign-q", "-0.95", ""}, {"temperature", "1", ""}, {"noise", "0.25", ""}, {"deterministic", "false", ""},
		{"metrics-addr", "", ""}, {"log-level", "info", ""}, {"job-id", "", ""}, {"devices", "", ""}, {"amp", "false", ""},
		{"source", "selfplay", ""}, {"validate-every", "100", ""}, {"rescorer", "", ""}, {"sampler", "uniform", ""},
		{"exporter", "safetensors", ""}, {"log-file", "", ""}, {"log-format", "text", ""}, {"log-every", "10", ""}, {"quiet", "false", ""},
		{"plugin-dir", "", ""}, {"on-plugin-failure", "stop", ""},
	} {
		v := s.Lookup(c.name)
		if v == nil {
			t.Errorf("no flag --%s", c.name)
			continue
		}
		if v.String() != c.def || v.Flag().Env != c.variable {
			t.Errorf("--%s: default %q, variable %q, want %q, %q", c.name, v.String(), v.Flag().Env, c.def, c.variable)
		}
		if len(v.Flag().Usage) < 8 || v.Type() == "" {
			t.Errorf("--%s: usage %q, type %q", c.name, v.Flag().Usage, v.Type())
		}
	}
}

// TestPrecedence checks flag > environment > file > default for every flag that
// has a variable, one layer after the other.
func TestPrecedence(t *testing.T) {
	file := mustParse(t, "training { batch_size: 32 }")
	for _, c := range []struct {
		in     Input
		want   int32
		origin string
	}{
		{Input{}, 16, "default"},
		{Input{File: file}, 32, "run.textproto:1:12"},
		{Input{File: file, Env: env("BATCH_SIZE", "64"), Flags: set(t)}, 64, "environment variable BATCH_SIZE"},
		{Input{File: file, Env: env("BATCH_SIZE", ""), Flags: set(t)}, 32, "run.textproto:1:12"},
		{Input{File: file, Env: env("BATCH_SIZE", "64"), Flags: set(t, "--batch-size", "128")}, 128, "--batch-size"},
		{Input{File: file, Env: env("BATCH_SIZE", "64"), Flags: set(t, "--batch-size=16")}, 16, "--batch-size"},
	} {
		e := mustResolve(t, c.in)
		if got := e.Config.GetTraining().GetBatchSize(); got != c.want || e.Origin("training.batch_size") != c.origin {
			t.Errorf("batch size %d from %s, want %d from %s", got, e.Origin("training.batch_size"), c.want, c.origin)
		}
		if e.Config.GetSelfplay().GetEpisodes() != 4 || e.Origin("selfplay.episodes") != "default" {
			t.Errorf("episodes %d from %s", e.Config.GetSelfplay().GetEpisodes(), e.Origin("selfplay.episodes"))
		}
	}
	if file.Config.Training.GetBatchSize() != 32 || file.Config.Selfplay != nil {
		t.Error("Resolve changed the file")
	}
}

// TestEveryFlagSetsItsField gives every flag a value that is not the default
// and looks for it in the field.
func TestEveryFlagSetsItsField(t *testing.T) {
	var all []Group
	for _, f := range flags() {
		if !slices.Contains(all, f.Group) {
			all = append(all, f.Group)
		}
	}
	for _, v := range NewFlagSet(all...).Values() {
		f := v.Flag()
		text := map[string]string{"bool": map[string]string{"true": "0", "false": "true"}[v.String()], "int": "3", "uint": "3", "float": "0.375", "string": "xyz", "names": "identity", "directory": "xyz"}[v.Type()]
		if words := strings.Split(v.Type(), "|"); len(words) > 1 {
			text = words[0]
			if text == v.String() {
				text = words[1]
			}
		}
		if f.Name == "devices" {
			text = "cuda:1,cuda"
		}
		c := Defaults()
		changed, err := f.apply(c, text)
		if err != nil || len(changed) == 0 {
			t.Errorf("--%s %s: %v", f.Name, text, err)
			continue
		}
		if Hash(c) == Hash(Defaults()) {
			t.Errorf("--%s %s changes nothing", f.Name, text)
		}
		d := Compare(Defaults(), c)
		for _, change := range append(d.Logged, d.Refused...) {
			if !strings.HasPrefix(change.Path, f.Path) && f.Name != "devices" && change.Path != f.said.GetClears() {
				t.Errorf("--%s changes %s", f.Name, change.Path)
			}
		}
	}
}

// TestRefusedValues: a complaint begins with its place, or with the field where that is a
// default.
func TestRefusedValues(t *testing.T) {
	for _, c := range []struct {
		file string
		env  []string
		args []string
		want string
	}{
		{args: []string{"--batch-size", "0"}, want: "--batch-size: training.batch_size = 0: out of range; allowed is from 1 up to 65536"},
		{env: []string{"EPISODES", "-1"}, want: "environment variable EPISODES: selfplay.episodes = -1: out of range; allowed is from 1 up to 1000000000000"},
		{env: []string{"EPISODES", "many"}, want: `environment variable EPISODES: selfplay.episodes: "many" is not a whole number; correct or unset it`},
		{file: "mcts {\n  cpuct: nan\n}", want: "run.textproto:2:3: mcts.cpuct = nan: out of range; allowed is above 0 up to 1000"},
		{file: "mcts { noise_epsilon: 1.5 }", want: "run.textproto:1:8: mcts.noise_epsilon = 1.5: out of range; allowed is from 0 up to 1"},
		{file: "training {\n losses { head: POLICY kind: CROSS_ENTROPY metric: 'a' }\n losses { head: VALUE kind: MSE metric: 'b' weight: -1 } }", want: "run.textproto:3:45: training.losses[1].weight = -1: out of range"},
		{file: "training { losses { head: POLICY kind: MSE metric: 'a' } }", want: "run.textproto:1:34: training.losses[0].kind = MSE: does not belong to head POLICY"},
		{file: "training { losses { head: VALUE kind: MSE metric: '\\033[2J' } }", want: `run.textproto:1:43: training.losses[0].metric = "\x1b[2J": has characters that cannot be printed`},
		{file: "training { losses { head: VALUE kind: MSE metric: 'a' head_name: 'soft' } }", want: "run.textproto:1:55: training.losses[0].head_name = \"soft\": is none of [\"q\" \"st\"], which head VALUE has besides its main one"},
		{file: "training { losses { head: POLICY kind: SOFT_CROSS_ENTROPY metric: 'a' head_name: 'opponent' } }", want: "run.textproto:1:34: training.losses[0].kind = SOFT_CROSS_ENTROPY: does not belong to head_name \"opponent\", which learns one move"},
		{file: "training { losses { head: REPLY kind: CROSS_ENTROPY metric: 'a' head_name: 'q' } }", want: "run.textproto:1:65: training.losses[0].head_name = \"q\": is none of [], which head REPLY has besides its main one"},
		{file: "training { losses { head: SURVIVAL kind: HUBER metric: 'a' } }", want: "run.textproto:1:36: training.losses[0].kind = HUBER: does not belong to head SURVIVAL"},
		{file: "training { losses { head: POLICY kind: SOFT_CROSS_ENTROPY metric: 'a' temperature: 1 } }", want: "run.textproto:1:71: training.losses[0].temperature = 1: out of range"},
		{file: "training { losses { head: WEIGHTS kind: L2 metric: 'a' } }", want: "run.textproto:1:12: training.losses: nothing to learn: no head has a loss with a weight above 0; chessbrain recipes show example has losses"},
		{file: "training { lr_rule { starting_step: 5 lr: 1 } }", want: "run.textproto:1:12: training.lr_rule: no rule holds at step 0"},
		{file: "training { lr_rule { lr: 1 lr: 2 lr: 3 duration_steps: 4 } }", want: "run.textproto:1:22: training.lr_rule[0].lr: 3 learning rates for 1 segments"},
		{args: []string{"--source", "shuffled", "--producer-workers", "2"}, want: "--producer-workers: selfplay.producer_workers: --producer-workers has no meaning with --source shuffled"},
		{args: []string{"--source", "dir", "--episodes", "9"}, want: "--episodes: selfplay.episodes: --episodes has no meaning with --source dir"},
		{args: []string{"--steps", "9"}, want: "training.source: --steps has no meaning with --source selfplay"},
		{args: []string{"--device", "mps"}, want: `--device: training.device = "mps": no Metal backend; use cpu`},
		{args: []string{"--device", "gpu"}, want: `--device: training.device = "gpu": no such kind of device`},
		{args: []string{"--devices", "cpu"}, want: `invalid argument "cpu" for "--devices" flag: "cpu" is not two devices`},
		{args: []string{"--devices", "cpu,mps"}, want: `--devices: selfplay.producer_device = "mps": no Metal backend`},
		{args: []string{"--devices", "cpu,cpu", "--device", "cpu"}, want: "--devices: --device is given too"},
		{args: []string{"--amp", "--no-amp"}, want: "--amp: --no-amp is given too"},
		{args: []string{"--amp=fp16", "--no-amp"}, want: "--amp: --no-amp is given too"},
		{args: []string{"--amp=fp8"}, want: `invalid argument "fp8" for "--amp" flag: "fp8" is none of auto|on|off|bf16|fp16`},
		{args: []string{"--source=shufled"}, want: `invalid argument "shufled" for "--source" flag: "shufled" is none of selfplay|dir|shuffled|loader; did you mean shuffled?`},
		{args: []string{"--precision", "bf16", "--no-amp"}, want: "--precision: selfplay.precision = BF16: training.amp is OFF (--no-amp)"},
		{args: []string{"--deterministic", "--producer-workers", "2"}, want: "--producer-workers: selfplay.producer_workers = 2: deterministic allows no producer workers"},
		{args: []string{"--net", "b7c3"}, want: `--net: model.net = "b7c3": neither a model kind`},
		{args: []string{"--net", "0x4"}, want: "--net: model.arch.conv_tower.filters = 0: out of range"},
		{args: []string{"--rescorer", "identity,no_such"}, want: `--rescorer: plugins.rescorer[1].name = "no_such": no name of a stage of kind rescorer; a stage has 1 to 40 of a-z 0-9 -`},
		{args: []string{"--sampler", "../x"}, want: `--sampler: plugins.sampler.name = "../x": no name of a stage of kind sampler`},
		{args: []string{"--exporter", ""}, want: `--exporter: export.exporter = "": no name of a stage of kind exporter`},
		{args: []string{"--publisher", "ftp"}, want: `--publisher: export.publisher = "ftp": no such publisher: not in this build; known: directory`},
		{args: []string{"--plugin-dir", ""}, want: `invalid argument "" for "--plugin-dir" flag: no path`},
		{args: []string{"--on-plugin-failure", "shrug"}, want: `invalid argument "shrug" for "--on-plugin-failure" flag: "shrug" is none of stop|continue`},
		{file: "plugins { restarts: 0 }", want: "run.textproto:1:11: plugins.restarts = 0: out of range; allowed is from 1 up to 1000"},
		{file: "plugins { dir: 'x' dir: '' }", want: "run.textproto:1:20: plugins.dir[1] = \"\": is empty"},
		{file: "data_loader { stage { plugin { batch: 0 } } }", want: "run.textproto:1:32: data_loader.stage[0].plugin.batch = 0: out of range"},
		{args: []string{"--metrics-addr", "0.0.0.0:9000"}, want: `--metrics-addr: metrics.addr = "0.0.0.0:9000": other machines could read it`},
		{args: []string{"--metrics-addr", "0.0.0.0:9000", "--metrics-public"}, want: `--metrics-addr: metrics.addr = "0.0.0.0:9000": other machines could read it`},
		{args: []string{"--metrics-addr", "127.0.0.1:99999"}, want: `--metrics-addr: metrics.addr = "127.0.0.1:99999": port 99999 is too high; want a port from 0 to 65535`},
		{args: []string{"--metrics-addr", "9000"}, want: `--metrics-addr: metrics.addr = "9000": not an address`},
		{args: []string{"--otlp", "localhost:4318"}, want: `--otlp: metrics.otlp = "localhost:4318": it is no URL of a collector`},
		{args: []string{"--job-id", "a b"}, want: "--job-id: job_id"},
		{file: "loop {\n gatekeeper { sprt { elo0: 5 elo1: 5 } } }", want: "run.textproto:2:30: loop.gatekeeper.sprt.elo1 = 5: not above elo0, which is 5"},
		{file: "loop { gatekeeper { sprt { alpha: 0.5 } } }", want: "run.textproto:1:28: loop.gatekeeper.sprt.alpha = 0.5: out of range; allowed is above 0 and below 0.5"},
		{file: "loop { shuffle { min_rows: 9 max_rows: 8 } }", want: "run.textproto:1:30: loop.shuffle.max_rows = 8: below min_rows, which is 9"},
		{file: "loop { rating { engine_skill: 3 } }", want: "loop.rating.engine: there are nodes or skill levels for no engine"},
		{file: "loop { rating { engine: 'e' engine_nodes: [5, 0] } }", want: "run.textproto:1:47: loop.rating.engine_nodes[1] = 0: out of range"},
		{args: []string{"--max-train-bucket-per-new-data", "-1"}, want: "--max-train-bucket-per-new-data: training.bucket.per_new_row = -1: out of range"},
		{args: []string{"--lr-scale", "0"}, want: "--lr-scale: training.lr_scale = 0: out of range; allowed is above 0"},
		{args: []string{"--export-mode", "all"}, want: `invalid argument "all" for "--export-mode" flag: "all" is none of direct|main|extra|trainonly`},
		{file: "export { path: '../x' }", want: "run.textproto:1:10: export.path"},
		{file: "export { path: 'x{y}' }", want: `run.textproto:1:10: export.path = "x{y}": {y} means nothing`},
		{file: "model { arch { conv_tower { filters: 4 se_ratio: 8 } } }", want: "run.textproto:1:40: model.arch.conv_tower.se_ratio = 8: above the 4 filters"},
		{file: "model { arch { policy_head: 7 } }", want: "run.textproto:1:16: model.arch.policy_head = 7: not in this build"},
		{file: "model { arch { attention {\n width: 30 heads: 4 } } }", want: "run.textproto:2:2: model.arch.attention.width = 30: not a multiple of heads, which is 4: each head has an equal share of the channels; take 28, or another number of heads"},
		{file: "model { arch { attention { hidden: 20000 } } }", want: "run.textproto:1:28: model.arch.attention.hidden = 20000: out of range; allowed is from 0 up to 16384"},
		{args: []string{"--net", "2x1x4h"}, want: "--net: model.arch.attention.width = 2: not a multiple of heads, which is 4: each head has an equal share of the channels; take 4,"},
		{args: []string{"--net", "64x0x4h"}, want: "--net: model.arch.attention.encoders = 0: out of range"},
		{args: []string{"--net", "64x4x0h"}, want: "--net: model.arch.attention.heads = 0: out of range"},
		{args: []string{"--net", "64x4x4h-swish"}, want: `--net: model.net = "64x4x4h-swish": neither a model kind`},
		{file: "selfplay { openings { positions { weight: 2 } } }", want: "run.textproto:1:23: selfplay.openings.positions[0]: no start position"},
	} {
		in := Input{Env: env(c.env...)}
		if c.file != "" {
			in.File = mustParse(t, c.file)
		}
		s := NewFlagSet(TrainGroups...)
		err := parseFlags(s, c.args...)
		if err == nil {
			in.Flags = s
			_, err = Resolve(in)
		}
		if err == nil || !strings.Contains("\n"+err.Error(), "\n"+c.want) {
			t.Errorf("%q %v %v: error\n%v\nwant\n%s", c.file, c.env, c.args, err, c.want)
		}
	}
}

// TestAllComplaintsAtOnce: a user should not have to start again for each fault.
func TestAllComplaintsAtOnce(t *testing.T) {
	_, err := Resolve(Input{Flags: set(t, "--batch-size", "0", "--episodes", "0", "--device", "x")})
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("want three lines, have %v", err)
	}
}

func TestImplied(t *testing.T) {
	e := mustResolve(t, Input{File: mustParse(t, `name: "Mein Lauf: 1.0/ä" deterministic: true selfplay { producer_workers: 3 }`)})
	if e.Config.GetSelfplay().GetProducerWorkers() != 0 || JobID(e.Config.GetName()) != "Mein-Lauf--1-0--" {
		t.Errorf("workers %d, job %q", e.Config.GetSelfplay().GetProducerWorkers(), JobID(e.Config.GetName()))
	}
	for _, c := range []struct {
		args []string
		env  []string
		want Training_AMP
	}{
		{nil, nil, Training_AUTO}, {[]string{"--no-amp"}, nil, Training_OFF}, {[]string{"--amp"}, nil, Training_ON},
		{nil, []string{"NO_AMP", "1"}, Training_OFF}, {nil, []string{"NO_AMP", "0"}, Training_AUTO}, {[]string{"--amp"}, []string{"NO_AMP", "1"}, Training_ON},
		{[]string{"--no-amp=false"}, []string{"NO_AMP", "1"}, Training_AUTO}, {[]string{"--no-amp=false", "--amp"}, nil, Training_ON},
		{[]string{"--amp=bf16"}, nil, Training_BF16}, {[]string{"--amp=fp16"}, []string{"NO_AMP", "1"}, Training_FP16}, {[]string{"--amp=off"}, nil, Training_OFF},
		{[]string{"--amp=off", "--no-amp"}, nil, Training_OFF}, {[]string{"--amp=true"}, nil, Training_ON}, {[]string{"--amp=false"}, nil, Training_AUTO},
	} {
		e, err := Resolve(Input{Flags: set(t, c.args...), Env: env(c.env...)})
		if err != nil || e.Config.GetTraining().GetAmp() != c.want {
			t.Errorf("%v %v: %v %v, want %v", c.args, c.env, err, e.Config.GetTraining().GetAmp(), c.want)
		}
	}
	for _, c := range []struct {
		file string
		args []string
		want SelfPlay_Precision
	}{
		{"seed: 7", nil, SelfPlay_AUTO}, {"seed: 7", []string{"--precision", "bf16", "--amp"}, SelfPlay_BF16},
		{"seed: 7", []string{"--no-amp"}, SelfPlay_AUTO}, {"selfplay { precision: BF16 }", []string{"--no-amp"}, SelfPlay_FP32},
		{"selfplay { precision: BF16 } training { amp: OFF }", nil, SelfPlay_FP32},
		{"selfplay { precision: FP16 } training { amp: OFF }", nil, SelfPlay_FP32}, {"selfplay { precision: FP16 }", nil, SelfPlay_FP16},
	} {
		e, err := Resolve(Input{File: mustParse(t, c.file), Flags: set(t, c.args...)})
		if err != nil || e.Config.GetSelfplay().GetPrecision() != c.want {
			t.Errorf("%s %v: %v %v, want %v", c.file, c.args, err, e.Config.GetSelfplay().GetPrecision(), c.want)
		}
	}
	for text, want := range map[string][]int64{"engine: 'stockfish'": {1000}, "engine: 'stockfish' engine_nodes: [1, 10]": {1, 10}, "games: 2": nil} {
		e, err := Resolve(Input{File: mustParse(t, "loop { rating { "+text+" } }")})
		if err != nil || !slices.Equal(e.Config.GetLoop().GetRating().GetEngineNodes(), want) {
			t.Errorf("%s: %v, nodes %v, want %v", text, err, e.Config.GetLoop().GetRating().GetEngineNodes(), want)
		}
	}
	e, err := Resolve(Input{File: mustParse(t, "training { lr_rule { lr: .5 } }"), Flags: set(t, "--lr", "0.1")})
	if err != nil || len(e.Config.GetTraining().GetLrRule()) != 0 || e.Config.GetTraining().GetLr() != 0.1 {
		t.Errorf("--lr does not override the rules: %v", err)
	}
	if e := e.Errorf("training.lr", "use less", "too hot"); e.Error() != "--lr: training.lr = 0.1: too hot; use less" {
		t.Error(e)
	}
}

// TestReload: the file is read again under the same flags; a fault in it is an
// error and changes nothing.
func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.textproto")
	write := func(text string) {
		t.Helper()
		filetest.Write(t, path, text)
	}
	write("plugins { sampler { name: 'a' } } training { batch_size: 8 }")
	e := mustResolve(t, Input{Path: path, Flags: set(t, "--batch-size", "4", "--plugin-dir", "x", "--plugin-dir", "y"+string(filepath.ListSeparator)+"z")})
	write("plugins { sampler { name: 'b' } dir: 'w' } training { batch_size: 9 }")
	again, err := e.Reload()
	if err != nil {
		t.Fatal(err)
	}
	p := again.Config.GetPlugins()
	if p.GetSampler().GetName() != "b" || again.Config.GetTraining().GetBatchSize() != 4 || !slices.Equal(p.GetDir(), []string{"x", "y", "z"}) {
		t.Errorf("read again: %v", p)
	}
	if name := e.Config.GetPlugins().GetSampler().GetName(); name != "a" {
		t.Errorf("the first one has sampler %s now", name)
	}
	write("plugins { sampler { name: '' } }")
	if _, err := again.Reload(); err == nil || !strings.Contains(err.Error(), path+":1:21: plugins.sampler.name") {
		t.Errorf("a bad file: %v", err)
	}
	if _, err := (&Effective{}).Reload(); err == nil || !strings.Contains(err.Error(), "without a configuration file") {
		t.Errorf("no file: %v", err)
	}
}

func TestDefaultsAreFresh(t *testing.T) {
	a := Defaults()
	a.Training.Losses[0].Weight = proto.Float64(5)
	if Defaults().Training.Losses[0].GetWeight() != 1 {
		t.Error("Defaults share memory")
	}
}

// TestOverrides: path=value pairs win over flags, file and defaults, are named in
// complaints, and change single fields only.
func TestOverrides(t *testing.T) {
	s := NewFlagSet(SelfPlayGroups...)
	if err := parseFlags(s, "--mcts-simulations=50"); err != nil {
		t.Fatal(err)
	}
	file := mustParse(t, "mcts { simulations: 20 cpuct: 2 }")
	e := mustResolve(t, Input{File: file, Flags: s, Overrides: []string{
		"mcts.simulations=80,selfplay.simulations_schedule=32@0,100@200,mcts.gumbel.enabled=yes", "seed=3"}})
	m, p := e.Config.GetMcts(), e.Config.GetSelfplay()
	if m.GetSimulations() != 80 || p.GetSimulationsSchedule() != "32@0,100@200" || !m.GetGumbel().GetEnabled() ||
		e.Config.GetSeed() != 3 || m.GetCpuct() != 2 || e.Origin("mcts.simulations") != "--override-config" {
		t.Errorf("%v %q %v, simulations from %s", m, p.GetSimulationsSchedule(), e.Config.GetSeed(), e.Origin("mcts.simulations"))
	}
	for text, want := range map[string]string{
		"mcts.simulations":      "want path=value",
		"mcts.visits=3":         "no field mcts.visits in the schema; chessbrain recipes show example has all fields",
		"selfplay.episods=3":    "no field selfplay.episods in the schema; did you mean selfplay.episodes?",
		"mcts=3":                "mcts is not a single value",
		"training.losses=3":     "training.losses is not a single value",
		"mcts.simulations=many": `"many" is not a whole number`,
		"mcts.simulations=0":    "--override-config: mcts.simulations = 0: out of range",
	} {
		if _, err := Resolve(Input{File: file, Flags: s, Overrides: []string{text}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestKataGoFlags holds the names and defaults of the flags that people who come
// from KataGo know, by command.
func TestKataGoFlags(t *testing.T) {
	for _, c := range []struct {
		command string
		groups  []Group
		flags   string
	}{
		{"train", TrainGroups, "max-train-bucket-per-new-data=0 max-train-bucket-size=5000000 stop-when-train-bucket-limited=false no-repeat-files=false " +
			"quit-if-no-data=false samples-per-epoch=0 epochs-per-export=1 max-epochs-this-instance=0 export-mode=direct lr-scale=1 steps-per-network=0 " +
			"chunks-per-network=0 source=selfplay source-dir= steps=0 exporter=safetensors export-weights=raw"},
		{"run", RunGroups, "cycles=0 games=0 hours=0 elo=0 games-per-cycle=500 gating=true samples-per-cycle=500000 min-rows=100000 max-rows=0 " +
			"keep-target-rows=600000 expand-window-per-row=0.4 taper-window-exponent=0.65 taper-window-scale=50000 add-to-data-rows=0 " +
			"approx-rows-per-file=70000 gate-games=200 required-candidate-win-prop=0.5 rating-games=0 keep-shuffles=2 max-gib=0 training-name=main net= " +
			"batch-size=16 max-train-bucket-per-new-data=0 samples-per-epoch=0 producer-workers=0"},
		{"gatekeeper", GatekeeperGroups, "games=200 required-candidate-win-prop=0.5 visits=100 opening-plies=8 max-plies=450 test-older=false workers=0 " +
			"gumbel=false temperature=0 temperature-plies=20 sprt=false sprt-elo0=0 sprt-elo1=10 sprt-alpha=0.05 sprt-beta=0.05 run-dir=runs/chessbrain"},
		{"export", ExportGroups, "exporter=safetensors export-weights=raw run-dir=runs/chessbrain"},
		{"gc", []Group{Group_RETENTION}, "keep-shuffles=2 keep-rejected=20 keep-game-rows=0 keep-game-days=0 keep-gate-pgns=0 keep-models=0 max-gib=0"},
	} {
		s, seen := NewFlagSet(c.groups...), map[string]bool{}
		for _, v := range s.Values() {
			if seen[v.Flag().Name] {
				t.Errorf("%s has --%s twice", c.command, v.Flag().Name)
			}
			seen[v.Flag().Name] = true
		}
		for text := range strings.FieldsSeq(c.flags) {
			name, def, _ := strings.Cut(text, "=")
			if v := s.Lookup(name); v == nil || v.String() != def {
				t.Errorf("%s --%s: %v, want default %q", c.command, name, v, def)
			}
		}
	}
	for _, name := range []string{"source", "source-dir", "export-mode", "episodes", "steps"} {
		if NewFlagSet(RunGroups...).Lookup(name) != nil {
			t.Errorf("run has --%s, which its stages set", name)
		}
	}
	// As in KataGo, --gating takes a value: --gating 0.
	s := NewFlagSet(RunGroups...)
	if err := parseFlags(s, "--gating", "0", "--cycles", "3"); err != nil {
		t.Fatal(err)
	}
	e, err := Resolve(Input{Flags: s})
	if err != nil || e.Config.GetLoop().GetGating() || e.Config.GetLoop().GetCycles() != 3 || s.Lookup("gating").NoOptDefVal() != "" {
		t.Errorf("%v, %v", e, err)
	}
}
