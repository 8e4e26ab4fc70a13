package config

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
)

// A run that was begun before a fixed field existed goes on with the field's default,
// and with no other value.
func TestCompareOlder(t *testing.T) {
	old := Defaults()
	old.Model.Arch.ValuePooled = nil
	if d := Compare(old, Defaults()); d.Refused != nil || d.Logged != nil {
		t.Errorf("%+v", d)
	}
	pooled := Defaults()
	pooled.Model.Arch.ValuePooled = proto.Bool(true)
	if d := Compare(old, pooled); len(d.Refused) != 1 || d.Refused[0].Path != "model.arch.value_pooled" {
		t.Errorf("%+v", d)
	}
	sparse := Defaults()
	sparse.Model.Arch.Body = &Arch_Sparse{&SparseBody{}}
	fill(sparse.ProtoReflect())
	if d := Compare(sparse, Defaults()); len(d.Refused) != 1 || !strings.HasPrefix(d.Refused[0].String(), "model.arch: sparse -> conv_tower; ") {
		t.Errorf("a sparse run goes on as a tower: %+v", d)
	}
	bare := Defaults()
	bare.Model.Arch.Body = nil
	if d := Compare(bare, Defaults()); d.Refused != nil || d.Logged != nil {
		t.Errorf("a run without a body, which meant the default tower: %+v", d)
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		old, new        string
		logged, refused []string
	}{
		{"seed: 7", "seed: 7", nil, nil},
		{"seed: 7", "seed: 8", []string{"seed: 7 -> 8"}, nil},
		{"seed: 7 deterministic: true", "seed: 8 deterministic: true", nil, []string{"seed: 7 -> 8"}},
		{"seed: 7", "seed: 7 deterministic: true", nil, []string{"deterministic: false -> true"}},
		{"deterministic: true", "seed: 7", []string{"deterministic: true -> false"}, nil},
		{"seed: 7", "selfplay { episodes: 9 producer_workers: 2 } training { lr: 1 checkpoint { interval: 5 } } log { level: DEBUG }",
			[]string{"selfplay.episodes: 4 -> 9", "selfplay.producer_workers: 0 -> 2", "training.lr: 0.02 -> 1", "training.checkpoint.interval: 2 -> 5", "log.level: INFO -> DEBUG"}, nil},
		{"seed: 7", "model { net: '64x6' arch { activation: MISH } } training { optimizer: ADAMW }", nil,
			[]string{"model.arch.conv_tower.filters: 32 -> 64", "model.arch.conv_tower.blocks: 4 -> 6", "model.arch.activation: RELU -> MISH", "training.optimizer: SGD -> ADAMW"}},
		{"model { net: '64x6' }", "model { arch { conv_tower { filters: 64 blocks: 6 } } }", nil, nil},
		{"model { net: '64x4x4h-dense' }", "model { arch { attention { positions: 512 } } }", nil, nil},
		{"model { net: '64x4x4h' }", "model { net: '64x4x2h-smolgen' }", nil,
			[]string{"model.arch.attention.heads: 4 -> 2", "model.arch.attention.smolgen: false -> true"}},
		{"model { net: '64x6' }", "model { net: '64x4x4h' }", nil, []string{"model.arch: conv_tower -> attention"}},
		{"job_id: 'a'", "job_id: 'b'", nil, []string{`job_id: "a" -> "b"`}},
		{"job_id: 'a'", "seed: 7", nil, nil},
		{"seed: 7", "plugins { sampler { name: 'x' settings { key: 'b' value: '1' } settings { key: 'a' value: '2' } } dir: 'd' } export { settings { key: 'k' value: 'v' } }",
			[]string{`plugins.sampler.name: "uniform" -> "x"`, `plugins.dir[0]: (none) -> "d"`, "export.settings: (none) -> map[k:v]", "plugins.sampler.settings: (none) -> map[a:2 b:1]"}, nil},
		{"plugins { rescorer { name: 'x' settings { key: 'b' value: '1' } } }", "plugins { rescorer { name: 'x' settings { key: 'b' value: '2' } } }",
			[]string{"plugins.rescorer[0].settings: map[b:1] -> map[b:2]"}, nil},
		{"training { lr_rule { lr: 1 } }", "seed: 7", []string{"training.lr_rule[0].starting_step: 0 -> (none)", "training.lr_rule[0].lr[0]: 1 -> (none)", "training.lr_rule[0].loop: false -> (none)", "training.lr: (none) -> 0.02"}, nil},
	} {
		resolved := func(text string) *Config {
			return mustResolve(t, Input{File: mustParse(t, text)}).Config
		}
		d := Compare(resolved(c.old), resolved(c.new))
		check := func(what string, have []Change, want []string) {
			if len(have) != len(want) {
				t.Errorf("%s, then %s: %s %v, want %v", c.old, c.new, what, have, want)
				return
			}
			for i := range want {
				if !strings.HasPrefix(have[i].String(), want[i]) {
					t.Errorf("%s, then %s: %s %v, want %s", c.old, c.new, what, have[i], want[i])
				}
			}
		}
		check("logged", d.Logged, c.logged)
		check("refused", d.Refused, c.refused)
		if (d.Err() != nil) != (len(c.refused) > 0) {
			t.Errorf("Err is %v", d.Err())
		}
	}
}
