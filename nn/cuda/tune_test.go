package cuda

import (
	"errors"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/cuda/driver/emulated"
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
		f := &shapedForm{list: all}
		var u tuner
		if got := u.shape(f, 1); got != two {
			t.Errorf("%s: before it is known: %+v", name, got)
		}
		runs := map[kernels.TowerShape]int{}
		measure := func(s kernels.TowerShape) (float32, error) {
			runs[s]++
			if runs[s] == 2 {
				return tc.times[s], nil
			}
			return 10 - tc.times[s], nil // as when others use the device
		}
		for range 2 {
			if err := u.choose(all, measure); err != nil {
				t.Fatal(err)
			}
		}
		if got := u.shape(f, 1); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
		if len(runs) != 3 || runs[one] != tuneRuns || runs[two] != tuneRuns || runs[four] != tuneRuns {
			t.Errorf("%s: runs %v", name, runs)
		}
		if got := u.shape(&shapedForm{list: all[:2]}, 1); got != two {
			t.Errorf("%s: another choice: %+v", name, got)
		}
	}

	var u tuner
	broken := errors.New("it burns")
	if err := u.choose(all, func(kernels.TowerShape) (float32, error) { return 0, broken }); err != broken {
		t.Errorf("a fault: %v", err)
	}
	if u.shape(&shapedForm{list: all}, 1) != two || len(u.best) != 0 {
		t.Error("a fault has chosen a shape")
	}
	none := func(kernels.TowerShape) (float32, error) { panic("nothing to choose from") }
	for _, shapes := range [][]kernels.TowerShape{nil, all[:1], all[:2]} {
		if err := u.choose(shapes, none); err != nil {
			t.Error(err)
		}
	}
}

// shapedForm is a form that has shapes and nothing else.
type shapedForm struct {
	form
	list []kernels.TowerShape
}

func (f *shapedForm) shapes(int) []kernels.TowerShape { return f.list }

// TestEvaluatorTunes: an evaluator with batches for several boards a block measures the
// shapes once, and answers with the same bits whichever it takes.
func TestEvaluatorTunes(t *testing.T) {
	const positions = 8
	seed := freshSeed(t)
	d := openEmulated(t, emulated.Options{Shuffled: true})
	packed := newNet(t, d, inferenceNet(t, "40x1-noml", seed), device.BF16)
	f := packed.form.(*fusedNet)
	f.info.SMs = 2
	all := randomPositions(seed, positions)
	e := newEvaluator(t, d, packed, positions)
	var want *encoding.Batch
	shapes := f.shapes(positions)
	for _, shape := range []kernels.TowerShape{{}, shapes[len(shapes)-1], shapes[0]} {
		if shape != (kernels.TowerShape{}) {
			d.tuned.mu.Lock()
			if _, ok := d.tuned.best[tuneKey(shapes)]; !ok || len(d.tuned.best) != 1 {
				t.Fatalf("after a batch %v is known", d.tuned.best)
			}
			d.tuned.best[tuneKey(shapes)] = shape
			d.tuned.mu.Unlock()
		}
		b := pick(all, 0, 1, 2, 3, 4, 5, 6, 7)
		evaluate(t, e, b)
		if want == nil {
			want = b
		}
		for i := range positions {
			if !sameAnswer(b, i, want, i) {
				t.Errorf("%+v: position %d differs", shape, i)
			}
		}
		if shape == (kernels.TowerShape{}) { // the slot measures after it has answered
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			e = newEvaluator(t, d, packed, positions)
		}
	}
}
