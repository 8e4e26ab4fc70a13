package cuda

import (
	"errors"
	"fmt"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
	"github.com/chessbrain/chessbrain/nn/device"
)

// TestTuner: the shape with the shortest time is used from then on, the first where
// another saves next to nothing; each number of boards is measured once.
func TestTuner(t *testing.T) {
	one, two, four := kernels.TowerShape{Boards: 1, Depth: 3}, kernels.TowerShape{Boards: 2, Depth: 3}, kernels.TowerShape{Boards: 4, Depth: 2}
	all := []kernels.TowerShape{two, {Boards: 2, Depth: 2}, four, one}
	for name, tc := range map[string]struct {
		times map[kernels.TowerShape]float32 // of the runs that count
		want  kernels.TowerShape
	}{
		"the first":    {map[kernels.TowerShape]float32{one: 3, two: 2, four: 2.5}, two},
		"another":      {map[kernels.TowerShape]float32{one: 3, two: 2, four: 1.5}, four},
		"next to none": {map[kernels.TowerShape]float32{one: 3, two: 2, four: 1.99}, two},
	} {
		var u tuner
		runs := map[kernels.TowerShape]int{}
		measure := func(s kernels.TowerShape) (float32, error) {
			runs[s]++
			if runs[s] == 2 {
				return tc.times[s], nil
			}
			return 10 - tc.times[s], nil // as when others use the device
		}
		for range 2 {
			if got, err := u.choose(8, all, measure); err != nil || got != tc.want {
				t.Errorf("%s: %+v (%v), want %+v", name, got, err, tc.want)
			}
		}
		if len(runs) != 3 || runs[one] != tuneRuns || runs[two] != tuneRuns || runs[four] != tuneRuns {
			t.Errorf("%s: runs %v", name, runs)
		}
		for range 2 {
			if got, err := u.choose(16, all, measure); err != nil || got != one { // these runs all take 10 less
				t.Errorf("%s: another size: %+v (%v)", name, got, err)
			}
		}
	}

	var u tuner
	broken := errors.New("it burns")
	if _, err := u.choose(8, all, func(kernels.TowerShape) (float32, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("a fault: %v", err)
	}
	if got, err := u.choose(8, all, func(s kernels.TowerShape) (float32, error) { return float32(s.Boards), nil }); err != nil || got != one {
		t.Errorf("after a fault: %+v (%v)", got, err)
	}
	none := func(kernels.TowerShape) (float32, error) { panic("nothing to choose from") }
	for want, shapes := range map[kernels.TowerShape][]kernels.TowerShape{{}: nil, two: all[:2], four: all[2:3]} {
		if got, err := u.choose(8, shapes, none); err != nil || got != want {
			t.Errorf("of %v: %+v (%v)", shapes, got, err)
		}
	}
}

// TestShapes: batches for several boards a block have the shapes measured once, and all
// shapes, boards to a block and stages in shared memory, answer with the same bits.
func TestShapes(t *testing.T) {
	const positions = 5
	seed := freshSeed(t)
	d := openEmulated(t, emulated.Options{Races: true})
	packed := newNet(t, d, inferenceNet(t, "40x1-noml", seed), device.BF16)
	f := packed.form.(*fusedNet)
	f.info.SMs = 1
	all := randomPositions(seed, positions)
	var want *encoding.Batch
	shapes := f.shapes(positions)
	if len(shapes) != 6 {
		t.Fatalf("shapes %v, want 1, 2 and 4 boards with 2 and 3 stages", shapes)
	}
	key := fmt.Sprint(positions, shapes)
	for _, shape := range append([]kernels.TowerShape{{}}, shapes...) {
		if shape != (kernels.TowerShape{}) {
			if _, ok := d.tuned.best[key]; !ok || len(d.tuned.best) != 1 {
				t.Fatalf("after a batch %v is known", d.tuned.best)
			}
			d.tuned.best[key] = shape
		}
		e := newEvaluator(t, d, packed, positions)
		b := pick(all, 0, 1, 2, 3, 4)
		evaluate(t, e, b)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = b
		}
		for i := range positions {
			if !sameAnswer(b, i, want, i) {
				t.Errorf("%+v: position %d differs", shape, i)
			}
		}
	}
}
