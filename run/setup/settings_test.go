package setup

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/selfplay"
	"github.com/chessbrain/chessbrain/trainer"
)

// TestArchOf: the configuration's words give the nets that names give.
func TestArchOf(t *testing.T) {
	for name, overrides := range map[string][]string{
		"32x4":                               nil,
		"48x5-plain-mish-pooled":             {"model.net=48x5", "model.arch.conv_tower.se_ratio=0", "model.arch.activation=MISH", "model.arch.value_pooled=true"},
		"64x6-classical-scalar-noml":         {"model.net=64x6", "model.arch.policy_head=CLASSICAL", "model.arch.value_head=SCALAR", "model.arch.moves_left=false"},
		"32x4-attention":                     {"model.arch.policy_head=ATTENTION"},
		"64x4x4h-dense-smolgen-mish":         {"model.net=64x4x4h-dense-smolgen-mish"},
		"64x4x4h-smolgen-scalar-pooled-noml": {"model.arch.attention.smolgen=true", "model.arch.value_head=SCALAR", "model.arch.value_pooled=true", "model.arch.moves_left=false"},
		"48x2x3h-classical":                  {"model.net=48x2x3h", "model.arch.policy_head=CLASSICAL"},
		"48x2x3h-convolutional":              {"model.arch.attention.width=48,model.arch.attention.encoders=2,model.arch.attention.heads=3", "model.arch.policy_head=CONVOLUTIONAL"},
		"sparse128-noml":                     {"model.net=sparse128", "model.arch.moves_left=false"},
	} {
		e := overridden(t, overrides...)
		want := nntest.Named(name)
		if got, err := ArchOf(e.Config.GetModel().GetArch()); err != nil || !got.Equal(want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
}

// TestPluginMemory: the limit reaches the host, in bytes.
func TestPluginMemory(t *testing.T) {
	e, err := config.Resolve(config.Input{Overrides: []string{"plugins.memory_mib=3000"}})
	if err != nil || HostOptions(e.Config.GetPlugins(), "", nil).Memory != 3000<<20 {
		t.Error(err)
	}
}

// TestAttentionSizes: every size of an attention body reaches its block.
func TestAttentionSizes(t *testing.T) {
	e := resolve(t, `model { arch { attention { width: 40 encoders: 2 heads: 5 hidden: 7 hidden_activation: SELU smolgen: true compressed: 3
		smolgen_hidden: 11 smolgen_units: 13 smolgen_activation: RELU2 positions: 17 gated: false } } }`)
	a, err := ArchOf(e.Config.GetModel().GetArch())
	encoder := nn.Block{Kind: nn.BlockSmolgen, Hidden: 7, HiddenActivation: nn.SELU, Heads: 5, HeadWidth: 8, Compressed: 3, SmolgenHidden: 11,
		SmolgenUnits: 13, SmolgenActivation: nn.ReLU2}
	want := []nn.Block{{Kind: nn.BlockDenseEmbedding, InputFormat: 1, Width: 40, Positions: 17, Hidden: 7, HiddenActivation: nn.SELU}, encoder, encoder}
	if err != nil || !slices.Equal(a.Blocks, want) || *a.Head(nn.Policy) != (nn.Head{Output: nn.Policy, Kind: nn.PolicyAttention, Channels: 40, Hidden: 40}) {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestAuxiliary: a loss of the auxiliary head gives a net that head, the window its
// targets, and a loop's shuffles theirs; one of the head opponent gives the targets, and a
// soft policy loss nothing of it.
func TestAuxiliary(t *testing.T) {
	for loss, want := range map[string]struct{ head, ahead bool }{
		"head: REPLY kind: CROSS_ENTROPY": {true, true}, "head: SHORT_TERM kind: MSE": {true, true}, "head: POLICY kind: SOFT_CROSS_ENTROPY": {},
		"head: POLICY head_name: 'opponent' kind: CROSS_ENTROPY": {false, true},
	} {
		e := resolve(t, "training { losses { head: POLICY kind: CROSS_ENTROPY metric: 'p' } losses { "+loss+" metric: 'x' } }")
		arch, err := trainedArch(e.Config)
		if err != nil {
			t.Fatal(err)
		}
		cycle, err := NewCycle(e)
		if err != nil {
			t.Fatal(err)
		}
		if head, window := arch.Head(nn.Auxiliary) != nil, windowOf(e.Config).Ahead; head != want.head || window != want.ahead || cycle.Shuffle.Ahead != want.ahead {
			t.Errorf("%s: head %t, window %t, shuffles %t, want %+v", loss, head, window, cycle.Shuffle.Ahead, want)
		}
	}
}

// TestCyclePace: a cycle is refused a pace that its shuffles cannot keep, before it plays.
func TestCyclePace(t *testing.T) {
	_, err := NewCycle(effective(t, "training { schedule { steps_per_network: 5 } }"))
	if err == nil || !strings.Contains(err.Error(), "training.schedule.steps_per_network = 5: has no meaning with source SHUFFLED") {
		t.Errorf("%v", err)
	}
}

// TestFurtherHeads: a loss with a head's name gives a new net that head, and one of the value's
// error or category its forecast; a sparse net is refused.
func TestFurtherHeads(t *testing.T) {
	const losses = "training { losses { head: POLICY kind: CROSS_ENTROPY metric: 'p' } losses { head: POLICY head_name: 'soft' kind: SOFT_CROSS_ENTROPY metric: 's' } " +
		"losses { head: VALUE kind: VALUE_ERROR target: ROOT metric: 'e' } losses { head: VALUE head_name: 'st' kind: WDL_CROSS_ENTROPY target: ST metric: 'v' } " +
		"losses { head: VALUE head_name: 'st' kind: VALUE_CATEGORICAL target: ST buckets: 9 metric: 'c' } } "
	for _, c := range []struct{ model, want string }{
		{"model { net: '16x1' }", "16x1-se-soft-st"}, {"model { arch { attention { width: 8 encoders: 1 heads: 2 } policy_head: ATTENTION } }", "8x1x2h-soft-st"},
	} {
		e := resolve(t, losses+c.model)
		net, err := InitialNet(e, 3)
		if err != nil {
			t.Fatal(err)
		}
		if net.Arch.String() != c.want || net.Arch.Head(nn.Value).Errors != 1 || net.Arch.Named(nn.Value, "st").Errors != 0 || net.Arch.Named(nn.Value, "st").Categories != 9 || net.Validate() != nil {
			t.Errorf("%s: %s, %v", c.model, net.Arch, net.Validate())
		}
		k, err := TrainerConfig(e.Config, net.Arch)
		if err != nil || k.Losses[1].Name != "soft" || k.Losses[3].Name != "st" || k.Losses[3].Target != encoding.TargetST || k.Losses[2].Kind != trainer.ValueError || k.Losses[4].Buckets != 9 {
			t.Errorf("%s: %+v, %v", c.model, k.Losses, err)
		}
	}
	if TakesSparse(resolve(t, losses)) {
		t.Error("a sparse net is taken for a training of further heads")
	}
	e := resolve(t, losses+"model { arch { sparse { accumulators: 64 } } }")
	if err := CheckConfig(e); err == nil || !strings.Contains(err.Error(), "a sparse net has no further heads") {
		t.Errorf("a sparse net: %v", err)
	}
}

// TestDefaultLossesAgree: the configuration's default losses and the trainer's
// are one list.
func TestDefaultLossesAgree(t *testing.T) {
	arch := nn.DefaultArch()
	got, err := TrainerConfig(config.Defaults(), arch)
	if err != nil {
		t.Fatal(err)
	}
	if want := trainer.LossesFor(arch, trainer.DefaultLosses()); !reflect.DeepEqual(got.Losses, want) {
		t.Errorf("configuration %+v\ntrainer %+v", got.Losses, want)
	}
}

// TestShares: a schedule of q_ratio reaches the loss, one that cannot be read is named.
func TestShares(t *testing.T) {
	const text = "training { losses { head: POLICY kind: CROSS_ENTROPY metric: 'p' } losses { head: VALUE kind: WDL_CROSS_ENTROPY metric: 'v' mix_target: ST q_ratio_schedule: '%' } }"
	c, err := TrainerConfig(resolve(t, strings.Replace(text, "%", "1@0,0.5@16", 1)).Config, nn.DefaultArch())
	if err != nil {
		t.Fatal(err)
	}
	if m := c.Losses[1].Mix; c.Losses[0].Mix != nil || m == nil || m.Other != encoding.TargetST || m.At(16) != .5 {
		t.Errorf("%+v", c.Losses)
	}
	bad := resolve(t, strings.Replace(text, "%", "1@3", 1))
	_, err = TrainerConfig(bad.Config, nn.DefaultArch())
	for _, err := range []error{err, CheckConfig(bad)} {
		if err == nil || !strings.Contains(err.Error(), `training.losses[1].q_ratio_schedule: schedule "1@3": the first point is at step 3`) {
			t.Errorf("error %v", err)
		}
	}
}

// TestGameConfig: every setting of the selfplay and mcts sections reaches the
// game; one that changes nothing would be ignored in silence.
func TestGameConfig(t *testing.T) {
	game := func(overrides ...string) selfplay.GameConfig {
		t.Helper()
		e := overridden(t, overrides...)
		g, err := GameConfig(e.Config)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	plain := game()
	elsewhere := map[string]bool{ // read by others than gameConfig
		"selfplay.episodes": true, "selfplay.producer_workers": true, "selfplay.producer_on_each_core": true, "selfplay.producer_queue_size": true, "selfplay.producer_device": true,
		"selfplay.games_per_worker": true, "selfplay.cohort_size": true, "selfplay.precision": true, "selfplay.pools": true,
		"selfplay.pgn_share": true, "selfplay.lc0_chunks": true, "selfplay.models_dir": true, "selfplay.output_dir": true,
		"selfplay.resign.max_false_rate": true, "selfplay.openings.file": true, "mcts.cache_entries": true, "mcts.leaves_per_game": true,
		"selfplay.resign.playthrough": true, // 1 until the rule is trusted
		"mcts.syzygy_path":            true, // TestSearchTables
	}
	needs := map[string]string{ // read only together with another
		"selfplay.playout_cap.cheap_simulations": "selfplay.playout_cap.full_probability=0.5",
		"selfplay.schedule_by":                   "selfplay.simulations_schedule=3@0",
		"selfplay.temperature.decay_plies":       "selfplay.temperature.halflife=0",
	}
	values := map[string]string{"selfplay.simulations_schedule": "3@0,5@9", "selfplay.max_plies_schedule": "9@0", "selfplay.schedule_by": "SAMPLES", "mcts.cpuct_form": "LOG",
		"mcts.fpu_form": "ABSOLUTE", "mcts.twofold_draw": "false", "mcts.gumbel.enabled": "true", "mcts.gumbel.rescale": "true",
		"selfplay.openings.order": "SEQUENTIAL", "selfplay.openings.mirrored": "true", "selfplay.odds.factor": "7", "selfplay.resign.q": "-0.5",
		"selfplay.reduced_visits.plies": "5"}
	changed := 0
	for _, path := range fieldsOf((*config.Config)(nil).ProtoReflect().Descriptor(), "") {
		if !strings.HasPrefix(path, "selfplay.") && !strings.HasPrefix(path, "mcts.") || elsewhere[path] {
			continue
		}
		value, ok := values[path]
		if !ok {
			value = "0.375"
			if _, err := config.Resolve(config.Input{Overrides: []string{path + "=" + value}}); err != nil {
				value = "3"
			}
		}
		overrides := []string{path + "=" + value}
		base := plain
		if more := needs[path]; more != "" {
			overrides = append(overrides, more)
			base = game(more)
		}
		if reflect.DeepEqual(game(overrides...), base) {
			t.Errorf("%s changes nothing", strings.Join(overrides, ","))
		}
		changed++
	}
	if changed < 50 {
		t.Errorf("only %d settings were looked at", changed)
	}
}

// fieldsOf lists the single fields below a message.
func fieldsOf(md protoreflect.MessageDescriptor, prefix string) (paths []string) {
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		switch path := prefix + string(fd.Name()); {
		case fd.IsList() || fd.IsMap():
		case fd.Message() != nil:
			paths = append(paths, fieldsOf(fd.Message(), path+".")...)
		default:
			paths = append(paths, path)
		}
	}
	return paths
}

// TestLearningRateScale: the factor holds for a constant rate and for every
// segment of the rules, and is 1 where nothing is said.
func TestLearningRateScale(t *testing.T) {
	rates := func(text string) trainer.Schedule {
		t.Helper()
		k, err := TrainerConfig(effective(t, "training { "+text+" }").Config, nn.DefaultArch())
		if err != nil {
			t.Fatal(err)
		}
		return k.Schedule
	}
	if got := rates("lr: 0.25 lr_scale: 0.5"); got[0].LR[0] != 0.125 {
		t.Errorf("0.25 x 0.5 is %v", got)
	}
	if got := rates("lr: 0.25"); got[0].LR[0] != 0.25 {
		t.Errorf("without a factor 0.25 is %v", got)
	}
	got := rates("lr_rule { starting_step: 0 duration_steps: 8 lr: 0.5 lr: 0.25 transition: LINEAR } lr_scale: 2")
	if len(got) != 1 || !reflect.DeepEqual(got[0].LR, []float64{1, 0.5}) {
		t.Errorf("rules: %+v", got)
	}
}
