package trainer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
)

// slidingRows is a window of size rows that slides over many, by step rows a batch;
// it names the rows of its batches or spells them out.
type slidingRows struct {
	all         *encoding.TrainBatch
	rng         *rand.Rand
	first, size int
	step, batch int
	named, draw bool
	read        int // rows that were read by number
}

func newSlidingRows(seed uint64, named bool) *slidingRows {
	s := &slidingRows{all: encoding.NewTrainBatch(0), rng: rand.New(rand.NewPCG(seed, 1)), size: 40, step: 7, batch: 8, named: named, draw: true}
	nntest.AppendRows(s.all, rand.New(rand.NewPCG(seed, 2)), 4000)
	return s
}

func (s *slidingRows) Next(_ context.Context, b *encoding.TrainBatch) error {
	for i := range s.batch {
		n, weight := s.first+s.rng.IntN(s.size), s.rng.Float32()
		if s.named {
			b.AppendKept(uint64(n), weight)
		} else {
			b.AppendRow(s.all, n)
			b.Weight[i] = weight
		}
		switch draw := s.rng.Uint64(); {
		case s.named && s.draw:
			b.Kept.Draw = append(b.Kept.Draw, draw)
		case s.draw:
			b.ApplySymmetry(i, b.DrawSymmetry(i, draw))
		}
	}
	if s.named {
		b.Kept.Of = slidingView{s, uint64(s.first), uint64(s.first + s.size)}
	}
	s.first += s.step
	return nil
}

type slidingView struct {
	s        *slidingRows
	from, to uint64
}

func (v slidingView) Range() (from, to uint64) { return v.from, v.to }

// ReadRows gives up to three rows.
func (v slidingView) ReadRows(b *encoding.TrainBatch, from uint64) (next uint64, err error) {
	for next = from; next < min(from+3, v.to); next++ {
		b.AppendRow(v.s.all, int(next))
		v.s.read++
	}
	return next, nil
}

// TestDeviceWindow: steps on rows that the device keeps are those on the same rows
// with their contents, bit for bit, and each row goes to the device once; measures of
// evaluations and of averages too.
func TestDeviceWindow(t *testing.T) {
	arch := smallArch()
	cfg := exactConfig(arch, 8)
	cfg.GradAccumSteps, cfg.SWA = 2, SWAConfig{Period: 2, MaxAverages: 2}
	const back = 30
	for _, slots := range []int{40, 43, 500} {
		for _, draw := range []bool{false, true} {
			cfg.Window = slots
			host, remote, dev := pairOf(t, nn.Init(arch, 1), cfg)
			if host.KeptRows() != 0 || remote.KeptRows() != slots {
				t.Fatalf("%d rows are kept on the host and %d on the device of %d", host.KeptRows(), remote.KeptRows(), slots)
			}
			plain, named := newSlidingRows(5, false), newSlidingRows(5, true)
			plain.draw, named.draw = draw, draw
			for step := range 12 {
				switch step {
				case 5: // the window moves on by more than it holds
					plain.first, named.first = plain.first+100, named.first+100
				case 8: // back to rows whose slots may hold others
					plain.first, named.first = plain.first-back, named.first-back
				}
				want, got := mustStep(t, host, plain), mustStep(t, remote, named)
				what := fmt.Sprintf("%d slots, draw %v, step %d", slots, draw, step)
				sameStats(t, what, &want.Measures, &got.Measures)
				sameBits(t, what, host.Net(), remote.Net())
				if step%4 == 3 {
					a, errA := host.Evaluate(context.Background(), plain, 20)
					b, errB := remote.Evaluate(context.Background(), named, 20)
					if errA != nil || errB != nil || a.Rows != b.Rows {
						t.Fatal(errA, errB, a.Rows, b.Rows)
					}
					sameStats(t, what+": evaluation", &a.Measures, &b.Measures)
				}
			}
			for tr, src := range map[*Trainer]BatchSource{host: plain, remote: named} {
				if err := tr.RefreshSWA(context.Background(), src, 16); err != nil {
					t.Fatal(err)
				}
			}
			sameBits(t, "average", host.SWA(), remote.SWA())
			// The windows at first and after the jumps, then a few rows a batch.
			batches := 2*12 + 3*3 + 2
			want := 3*plain.size + (batches-3)*plain.step
			if slots == 500 { // the rows behind are there still
				want = 2*plain.size + (batches-2)*plain.step - back
			}
			if named.read != want || dev.kept != want {
				t.Errorf("%d slots: %d rows were read and %d copied to the device, want %d", slots, named.read, dev.kept, want)
			}
		}
	}
}

// TestDeviceWindowRefuses: named rows that nobody keeps, or that are not there.
func TestDeviceWindowRefuses(t *testing.T) {
	arch := smallArch()
	cfg := exactConfig(arch, 8)
	cfg.Window = 39
	host, remote, dev := pairOf(t, nn.Init(arch, 1), cfg)
	step := func(tr *Trainer, src BatchSource) string {
		_, err := tr.Step(context.Background(), src)
		return fmt.Sprint(err)
	}
	src := newSlidingRows(5, true)
	if got := step(host, src); !strings.Contains(got, "nobody keeps any") {
		t.Errorf("on the CPU: %s", got)
	}
	if got := step(remote, src); !strings.Contains(got, "window of 40, and 39 are kept") {
		t.Errorf("too large a window: %s", got)
	}
	src.size = 30
	dev.fail = func(call string) error {
		if call == "Keep" {
			return errors.New("it burns")
		}
		return nil
	}
	if got := step(remote, src); !strings.Contains(got, "rows for the device: it burns") {
		t.Errorf("a device that fails: %s", got)
	}
	dev.fail = nil
	mustStep(t, remote, src)
	for what, tc := range map[string]struct {
		spoil func(b *encoding.TrainBatch)
		want  string
	}{
		"no such row":    {func(b *encoding.TrainBatch) { b.Kept.Number[3] = 9999 }, "row 9999 is not in its window"},
		"too few names":  {func(b *encoding.TrainBatch) { b.Kept.Number = b.Kept.Number[:2] }, "less than its 8 rows"},
		"too few draws":  {func(b *encoding.TrainBatch) { b.Kept.Draw = b.Kept.Draw[:2] }, "less than its 8 rows"},
		"too many names": {func(b *encoding.TrainBatch) { b.AppendKept(b.Kept.Number[0], 1) }, "9 rows, want 1 to 8"},
	} {
		if got := step(remote, spoiled{src, tc.spoil}); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s", what, got)
		}
	}
	if got := step(remote, spoiled{src, func(*encoding.TrainBatch) { src.all.Legal[src.all.LegalStart[src.first+src.size-8]] = 5000 }}); !strings.Contains(got, "rows for the device: policy index 5000") {
		t.Errorf("a bad row: %s", got)
	}

	cfg.BatchSize = smallDevice
	_, small, _ := pairOf(t, nn.Init(arch, 1), cfg)
	if small.KeptRows() != 0 {
		t.Error("rows are kept without room for them")
	}
	src = newSlidingRows(5, true)
	src.batch = smallDevice
	if got := step(small, src); !strings.Contains(got, "nobody keeps any") {
		t.Errorf("without room: %s", got)
	}
}

// spoiled gives the batches of a source with a fault.
type spoiled struct {
	BatchSource
	spoil func(*encoding.TrainBatch)
}

func (s spoiled) Next(ctx context.Context, b *encoding.TrainBatch) error {
	err := s.BatchSource.Next(ctx, b)
	s.spoil(b)
	return err
}
