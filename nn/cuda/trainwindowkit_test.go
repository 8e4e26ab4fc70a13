package cuda

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
)

// mostMoves has 218 legal moves, and pawns.
const mostMoves = "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1"

// windowRows returns n random rows with one, two and eight symmetries in turn, and
// behind them that of mostMoves.
func windowRows(t *testing.T, rng *rand.Rand, n int) *encoding.TrainBatch {
	t.Helper()
	b := encoding.NewTrainBatch(n)
	nntest.AppendRows(b, rng, n)
	for i := range n {
		switch i % 3 {
		case 0:
			b.Scalars[i].OurOO = 1
			continue
		case 2:
			for step := 0; step < encoding.NumMasks; step += 13 {
				b.Masks[i][step], b.Masks[i][step+6] = 0, 0 // no pawns
			}
			for j, p := range rng.Perm(1792)[:len(b.LegalOf(i))] {
				b.LegalOf(i)[j] = uint16(p) // no promotion, and none twice
			}
		}
		b.Scalars[i].OurOO, b.Scalars[i].TheirOOO = 0, 0
	}
	board := chesstest.Board(t, mostMoves)
	var list chess.MoveList
	board.GenerateMoves(&list)
	i := encoding.AppendTrainPosition(b, chess.NewHistory(board), &list)
	for j := range b.PolicyOf(i) {
		b.PolicyOf(i)[j] = 1 / float32(list.N)
	}
	if got := []encoding.Transform{b.NumSymmetries(0), b.NumSymmetries(1), b.NumSymmetries(2)}; fmt.Sprint(got) != "[1 2 8]" || list.N != 218 {
		t.Fatalf("rows with %d symmetries and %d legal moves", got, list.N)
	}
	return b
}

// rowsOf returns chosen rows.
func rowsOf(b *encoding.TrainBatch, rows ...int) *encoding.TrainBatch {
	chosen := encoding.NewTrainBatch(0)
	for _, i := range rows {
		chosen.AppendRow(b, i)
	}
	return chosen
}

// windowModel says what lies in a window.
type windowModel struct {
	rows  *encoding.TrainBatch
	slots []int // of rows; -1 = nothing
	rng   *rand.Rand
}

func newWindowModel(rows *encoding.TrainBatch, slots int, rng *rand.Rand) *windowModel {
	m := &windowModel{rows: rows, slots: make([]int, slots), rng: rng}
	for i := range m.slots {
		m.slots[i] = -1
	}
	return m
}

// keeping is a call of Keep.
type keeping struct {
	first int
	rows  []int
}

// keep notes a call.
func (m *windowModel) keep(first int, rows ...int) keeping {
	for i, row := range rows {
		m.slots[(first+i)%len(m.slots)] = row
	}
	return keeping{first, rows}
}

// draw is keep of n random rows.
func (m *windowModel) draw(first, n int) keeping {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = m.rng.IntN(m.rows.N)
	}
	return m.keep(first, rows...)
}

// keptBatch is a micro-batch of kept rows, and the same with contents.
type keptBatch struct {
	before []keeping // after the batch before it
	names  []device.KeptRow
	whole  *encoding.TrainBatch
}

// batch shows what lies in slots under random symmetries, with random weights.
func (m *windowModel) batch(slots ...int) *keptBatch {
	b := &keptBatch{whole: encoding.NewTrainBatch(0)}
	for i, slot := range slots {
		b.whole.AppendRow(m.rows, m.slots[slot])
		as := encoding.Transform(m.rng.IntN(int(b.whole.NumSymmetries(i))))
		b.whole.ApplySymmetry(i, as)
		b.whole.Weight[i] = m.rng.Float32()
		b.names = append(b.names, device.Kept(slot, as))
	}
	return b
}

// stage keeps what comes before the batch, and stages it.
func (b *keptBatch) stage(m *windowModel, dev *Trainer) error {
	for _, k := range b.before {
		chosen := rowsOf(m.rows, k.rows...)
		if err := dev.Keep(k.first, chosen); err != nil {
			return err
		}
		for i := range chosen.N { // it may be changed
			chosen.Masks[i], chosen.Scalars[i], chosen.Targets[i] = [encoding.NumMasks]uint64{}, encoding.Scalars{}, [encoding.NumTargets]encoding.QDM{}
		}
		clear(chosen.Legal)
		clear(chosen.Policy)
	}
	names, weights := append([]device.KeptRow(nil), b.names...), append([]float32(nil), b.whole.Weight[:b.whole.N]...)
	err := dev.StageKept(names, weights)
	clear(names)
	clear(weights)
	return err
}

// windowConfig trains all heads of a small net, that of the opponent's reply too.
func windowConfig(p device.Precision, capacity int) device.Config {
	arch := smallArch().WithAuxiliary().WithHead(nn.Policy, nn.Opponent)
	return device.Config{
		Arch: arch, Capacity: capacity, Precision: p, BNMomentum: .1, Optimizer: "sgd", Momentum: .9, L2: 1e-4, Terms: nntest.Terms(arch),
	}
}

// newDeviceTrainer makes a trainer, closed at the end.
func newDeviceTrainer(t *testing.T, d *Device, cfg device.Config) *Trainer {
	t.Helper()
	tr, err := d.NewTrainer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, tr)
	return tr
}

func openWindow(t *testing.T, dev *Trainer, numRows int) {
	t.Helper()
	if ok, err := dev.OpenWindow(numRows); err != nil || !ok {
		t.Fatalf("a window of %d rows: %v, error %v", numRows, ok, err)
	}
}

// trainedBits takes steps of micro-batches, the next of which is always staged while
// the device is at work, and returns all measures and then the state, bit for bit.
func trainedBits(t *testing.T, dev *Trainer, steps, microBatches int, stage func(i int) error) (bits [][]byte) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	net := nntest.Net(dev.cfg.Arch, 21)
	state := &device.State{Moments: make([][][]float32, 1)}
	for i, s := range nn.Specs(dev.cfg.Arch) {
		state.Params = append(state.Params, append([]float32(nil), net.Params[i].Data...))
		if s.Kind.Trained() {
			state.Moments[0] = append(state.Moments[0], make([]float32, s.Len()))
		}
	}
	must(dev.Upload(state))
	must(stage(0))
	for i, total := 0, steps*microBatches; i < total; i++ {
		if i%microBatches == 0 {
			must(dev.BeginStep())
		}
		must(dev.Start(device.Pass{Backward: true, First: i%microBatches == 0, LossScale: 1}))
		if i+1 < total {
			must(stage(i + 1))
		}
		var rows device.Rows
		must(dev.Finish(&rows))
		for _, term := range rows.Terms {
			bits = append(bits, bytes.Clone(bytesOf(term)))
		}
		bits = append(bits, bytes.Clone(bytesOf(rows.Entropy)))
		if (i+1)%microBatches == 0 {
			u, err := dev.Update(device.Update{Scale: 1 / float32(microBatches), LR: .01, Step: int64(i / microBatches)})
			must(err)
			if !u.Finite || u.GradNorm == 0 {
				t.Errorf("gradient norm %v", u.GradNorm)
			}
		}
	}
	must(dev.Download(state))
	for _, list := range append(state.Moments, state.Params) {
		for _, tensor := range list {
			bits = append(bits, bytesOf(tensor))
		}
	}
	return bits
}
