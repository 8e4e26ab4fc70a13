package trainer

import (
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/cpu/train"
	"github.com/chessbrain/chessbrain/nn/device"
)

// fakeDevice is the CPU's trainer with a window of rows and every precision. It holds
// every call against the rules of the interface.
type fakeDevice struct {
	device.Trainer
	cfg     device.Config
	devices int                    // that it is, 0 = 1
	most    int                    // passes that were under way at once
	staged  []*encoding.TrainBatch // not started
	started []fakePass             // not finished
	began   bool
	closed  bool
	fail    func(call string) error // nil = nothing fails
	small   bool                    // it has no room for a window
	slots   []*encoding.TrainBatch  // the window; nil = a slot that holds nothing yet
	kept    int                     // rows that were copied into it
}

// smallDevice is the capacity of a fake device without room for a window.
const smallDevice = 7

type fakePass struct {
	b    *encoding.TrainBatch
	pass device.Pass
}

// openFake opens fake devices; the last one is kept in *last.
func openFake(last **fakeDevice) func(device.Config) (device.Trainer, error) {
	return func(c device.Config) (device.Trainer, error) {
		inner, err := train.Open(c)
		f := &fakeDevice{Trainer: inner, cfg: c, small: c.Capacity == smallDevice}
		if last != nil {
			*last = f
		}
		return f, err
	}
}

func (f *fakeDevice) Devices() int { return max(1, f.devices) }

func (f *fakeDevice) Precision() (device.Precision, string) { return f.cfg.Precision, "" }

func (f *fakeDevice) check(call string) error {
	if f.closed {
		return fmt.Errorf("%s of a closed device", call)
	}
	if f.fail != nil {
		return f.fail(call)
	}
	return nil
}

func (f *fakeDevice) Upload(s *device.State) error {
	if err := f.check("Upload"); err != nil {
		return err
	}
	return f.Trainer.Upload(s)
}

func (f *fakeDevice) Download(s *device.State) error {
	if err := f.check("Download"); err != nil {
		return err
	}
	return f.Trainer.Download(s)
}

func (f *fakeDevice) Stage(b *encoding.TrainBatch) error {
	if len(f.staged)+len(f.started) >= 2*f.Devices() {
		return errors.New("a batch more than there is room for")
	}
	if err := f.check("Stage"); err != nil {
		return err
	}
	c := encoding.NewTrainBatch(f.cfg.Capacity)
	for i := range b.N {
		c.AppendRow(b, i)
	}
	f.staged = append(f.staged, c)
	return nil
}

func (f *fakeDevice) OpenWindow(numRows int) (bool, error) {
	if f.slots != nil {
		return false, errors.New("a second window")
	}
	if err := f.check("OpenWindow"); err != nil || f.small {
		return false, err
	}
	f.slots = make([]*encoding.TrainBatch, numRows)
	return true, nil
}

func (f *fakeDevice) Keep(first int, b *encoding.TrainBatch) error {
	if err := f.check("Keep"); err != nil {
		return err
	}
	if b.N > len(f.slots) || first >= len(f.slots) {
		return fmt.Errorf("%d rows for slot %d of %d", b.N, first, len(f.slots))
	}
	for i := range b.N {
		row := encoding.NewTrainBatch(1)
		row.AppendRow(b, i)
		f.slots[(first+i)%len(f.slots)] = row
	}
	f.kept += b.N
	return nil
}

func (f *fakeDevice) StageKept(rows []device.KeptRow, weights []float32) error {
	if len(rows) != len(weights) {
		return fmt.Errorf("%d weights for %d rows", len(weights), len(rows))
	}
	b := encoding.NewTrainBatch(len(rows))
	for i, r := range rows {
		row := f.slots[r/device.KeptRow(encoding.NumTransforms)]
		if row == nil {
			return fmt.Errorf("row %d is not there", r)
		}
		b.AppendRow(row, 0)
		b.ApplySymmetry(i, encoding.Transform(r%device.KeptRow(encoding.NumTransforms)))
		b.Weight[i] = weights[i]
	}
	return f.Stage(b)
}

func (f *fakeDevice) Start(p device.Pass) error {
	if len(f.staged) == 0 {
		return errors.New("nothing is staged")
	}
	if p.Backward && p.First && !f.began {
		return errors.New("the step was not begun")
	}
	if err := f.check("Start"); err != nil {
		return err
	}
	f.started, f.staged = append(f.started, fakePass{f.staged[0], p}), f.staged[1:]
	f.most = max(f.most, len(f.started))
	return nil
}

// Finish does the pass only now: whoever reads results before it sees none.
func (f *fakeDevice) Finish(out *device.Rows) error {
	if len(f.started) == 0 {
		return errors.New("nothing is started")
	}
	if err := f.check("Finish"); err != nil {
		return err
	}
	work := f.started[0]
	f.started = f.started[1:]
	return errors.Join(f.Trainer.Stage(work.b), f.Trainer.Start(work.pass), f.Trainer.Finish(out))
}

func (f *fakeDevice) Drop() error { f.staged, f.started = nil, nil; return nil }

func (f *fakeDevice) BeginStep() error {
	if len(f.started) > 0 {
		return errors.New("a step begins with batches under way")
	}
	if err := f.check("BeginStep"); err != nil {
		return err
	}
	f.began = true
	return f.Trainer.BeginStep()
}

func (f *fakeDevice) Update(u device.Update) (device.Updated, error) {
	if err := f.check("Update"); err != nil {
		return device.Updated{}, err
	}
	f.began = false
	return f.Trainer.Update(u)
}

func (f *fakeDevice) Close() error {
	f.closed = true
	return f.Trainer.Close()
}
