package setup

import (
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/mcts"
)

// A net plays the search that its run was configured with, without what belongs to
// self-play alone, of which rescaled values are; the text of files that are there is read.
func TestSearchOf(t *testing.T) {
	e := overridden(t, "mcts.gumbel.enabled=true,mcts.gumbel.value_scale=0.1,mcts.gumbel.rescale=true,mcts.simulations=16,mcts.cpuct=2,mcts.noise_epsilon=0.5")
	want := mcts.DefaultConfig()
	want.CPUCT, want.Gumbel.Enabled, want.FPUReduction, want.PolicyTemperature, want.CPUCTStdev, want.LCB = 2, true, 0, 1.6, 0.4, 5
	for _, text := range []string{
		searchText(e.Config),
		`{"CPUCT":2,"Gumbel":{"Enabled":true,"Candidates":16,"Scale":1,"ValueScale":0.1,"MaxVisitInit":50,"Rescale":true}}`,
	} {
		got, err := SearchOf(map[string]string{MetaSearch: text})
		if err != nil || got.Gumbel != want.Gumbel || got.CPUCT != 2 || got.FPUReduction != 0 || got.PolicyTemperature != want.PolicyTemperature || got.CPUCTStdev != want.CPUCTStdev || got.LCB != want.LCB || got.Simulations != want.Simulations || got.NoiseEpsilon != want.NoiseEpsilon {
			t.Errorf("%v: %s is %+v", err, text, got)
		}
	}
	if got, err := SearchOf(map[string]string{MetaSearch: `{"Gumbel":{"Enabled":true,"Candidates":16,"ValueScale":2}}`}); err != nil || got.Gumbel.ValueScale != 2 {
		t.Errorf("a value scale that goes without rescaling: %v, %+v", err, got)
	}
	if got, err := SearchOf(nil); err != nil || got != mcts.DefaultConfig() {
		t.Errorf("of a net that says nothing: %v, %+v", err, got)
	}
	for _, text := range []string{"", "{", `{"CPUCT":-1}`, `{"Prober":{}}`, `{"Gumbel":{"Enabled":true,"Candidates":0}}`} {
		if got, err := SearchOf(map[string]string{MetaSearch: text}); err == nil || !strings.Contains(err.Error(), `"search"`) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}
