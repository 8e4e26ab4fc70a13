package tools

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
	"github.com/chessbrain/chessbrain/trainer"
)

// A block more has 14 parameters, and all of them are missing at once; with a rule
// they are drawn, everything else is carried over.
func TestPlanBlocks(t *testing.T) {
	from, to := nntest.Named("8x1"), nntest.Named("8x2")
	p := PlanMigration(from, to, Rules{})
	if len(p.Problems) != 14 || !isInput(p.Err()) || !strings.Contains(p.Err().Error(), "tower.1.conv1.weight [8 8 3 3] is new; say --init tower.1.conv1.weight") {
		t.Fatalf("%d problems: %v", len(p.Problems), p.Err())
	}
	if _, err := p.Net(nn.Init(from, 1), to, 2); err == nil {
		t.Error("a plan with problems makes a net")
	}
	p = PlanMigration(from, to, Rules{Init: []string{"tower.1.*"}})
	if p.Err() != nil || len(p.Initialised) != 14 || len(p.Moved) != len(nn.Specs(from)) || p.Dropped != nil {
		t.Fatalf("%+v", p)
	}
	old := nn.Init(from, 1)
	net, err := p.Net(old, to, 2)
	if err != nil {
		t.Fatal(err)
	}
	drawn := nn.Init(to, 2)
	for _, s := range nn.Specs(to) {
		want := drawn.Get(s.Name)
		if !strings.HasPrefix(s.Name, "tower.1.") {
			want = old.Get(s.Name)
		}
		if !slices.Equal(net.Get(s.Name), want) {
			t.Errorf("%s is of the wrong net", s.Name)
		}
	}
}

// A block moves up by a renaming with a star; the same net comes back.
func TestPlanRename(t *testing.T) {
	from, to := nntest.Named("8x1"), nntest.Named("8x2")
	p := PlanMigration(from, to, Rules{Rename: []string{"tower.0.*=tower.1.*"}, Init: []string{"tower.0.*"}})
	if p.Err() != nil || !slices.Contains(p.Moved, Move{"tower.0.se.fc1.bias", "tower.1.se.fc1.bias"}) || len(p.Initialised) != 14 {
		t.Fatalf("%+v", p)
	}
	back := PlanMigration(to, from, Rules{Rename: []string{"tower.1.*=tower.0.*"}, Drop: []string{"tower.0.*"}})
	if back.Err() != nil || len(back.Dropped) != 14 {
		t.Fatalf("%+v", back)
	}
	old := nn.Init(from, 1)
	up, err := p.Net(old, to, 2)
	if err != nil {
		t.Fatal(err)
	}
	down, err := back.Net(up, from, 3)
	if err != nil || down.ID() != old.ID() {
		t.Errorf("there and back is another net: %v", err)
	}
}

func TestPlanProblems(t *testing.T) {
	small, wide := nntest.Named("8x1"), nntest.Named("16x1")
	noML := nntest.Named("8x1-noml")
	for name, c := range map[string]struct {
		from, to nn.Arch
		rules    Rules
		want     []string
	}{
		"shape":         {small, wide, Rules{}, []string{"input.conv.weight has shape [16 112 3 3], its source input.conv.weight has [8 112 3 3]; say --init input.conv.weight"}},
		"no place":      {small, noML, Rules{}, []string{"moves_left.conv.weight [8 8 1 1] has no place in the new net; say --drop moves_left.conv.weight"}},
		"unused":        {small, small, Rules{Drop: []string{"nothing.*"}}, []string{"rule --drop nothing.* matches no parameter"}},
		"dropped":       {small, small, Rules{Drop: []string{"value.fc2.bias"}}, []string{"value.fc2.bias [3] would come from value.fc2.bias, which is dropped"}},
		"bad rename":    {small, small, Rules{Rename: []string{"a.*=b"}}, []string{"want FROM=TO, with one * in both or in none"}},
		"twice":         {small, small, Rules{Rename: []string{"input.bn.beta=x", "input.bn.gamma=x"}}, []string{"x would come from input.bn.beta and from input.bn.gamma"}},
		"no pattern":    {small, small, Rules{Init: []string{"["}}, []string{`"[" is no name`}},
		"new and stale": {small, noML, Rules{Init: []string{"moves_left.*"}}, []string{"has no place", "rule --init moves_left.* matches no parameter"}},
	} {
		p := PlanMigration(c.from, c.to, c.rules)
		for _, want := range c.want {
			if err := p.Err(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: no %q in %v", name, want, err)
			}
		}
	}
	if p := PlanMigration(small, small, Rules{}); p.Err() != nil || len(p.Moved) != len(nn.Specs(small)) {
		t.Errorf("the same architecture: %+v", p)
	}
}

// A migration to the same architecture goes on as the old run would: the next step
// on the same rows gives the same weights, bit for bit. The old run is left alone.
func TestMigrateGoesOn(t *testing.T) {
	dir := sharedRun(t)
	before := treeOf(t, dir, "")
	old := openRun(t, dir)
	plan := PlanMigration(old.Net.Arch, old.Net.Arch, Rules{})
	net, err := plan.Net(old.Net, old.Net.Arch, 9)
	if err != nil {
		t.Fatal(err)
	}
	state, dropped, err := plan.Continuation(old.Checkpoint, trainer.OptimizerSGD, true)
	if err != nil || dropped != 0 || state.Steps != 24 || state.Samples != 96 {
		t.Fatalf("%d dropped, %+v, %v", dropped, state, err)
	}
	e := resolve(t, fmt.Sprintf(tiny, filepath.Join(t.TempDir(), "new")))
	path, err := train.Init(context.Background(), train.Options{Training: setup.TrainingOf(e), Command: "test", Version: "test", Log: quiet},
		train.Beginning{Net: net, From: old.Name, Continue: state})
	if err != nil {
		t.Fatal(err)
	}
	if treeOf(t, dir, "") != before {
		t.Error("the old run was changed")
	}
	migrated := openRun(t, path)
	rows := openRows(t, old, dir)
	if got, want := stepOnce(t, migrated, rows), stepOnce(t, old, rows); got != want {
		t.Errorf("the next step gives %s, in the old run %s", got, want)
	}
	if _, dropped, err := plan.Continuation(old.Checkpoint, trainer.OptimizerAdamW, true); err != nil || dropped != len(state.Moments) {
		t.Errorf("another optimizer: %d dropped, %v", dropped, err)
	}
}

// stepOnce restores a checkpoint, takes one step and returns the net's id.
func stepOnce(t *testing.T, s *Subject, rows *Rows) string {
	t.Helper()
	id := ""
	if err := s.train(func(c *trainer.Config) { c.SWA = trainer.SWAConfig{} }, func(tr *trainer.Trainer, _ *trainer.Config) error {
		if _, err := s.Checkpoint.Restore([]stage.Section{tr.Section()}); err != nil {
			return err
		}
		stats, err := tr.Step(context.Background(), rows.Pass(0))
		if err == nil && stats.Step != 25 {
			t.Errorf("step %d", stats.Step)
		}
		id = tr.Net().ID()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return id
}
