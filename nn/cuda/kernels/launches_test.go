package kernels

import (
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// limits of the smallest devices that run a module, bytes of shared memory a block.
const (
	sharedF32  = 48 << 10 // sm_60
	sharedHalf = 99 << 10 // sm_86, sm_89
)

// allLaunches calls every constructor with sizes on both sides of its choices; the
// tower's with the smallest device that has tensor cores for it.
func allLaunches() []Launch {
	var all []Launch
	add := func(l ...Launch) { all = append(all, l...) }
	for _, boards := range []int{1, 3, 64, 4096} {
		n := int32(boards)
		for _, t := range []Type{F32, BF16, FP16} {
			for _, c := range []int32{16, 32, 48, 64, 112, 128, 256, 512} {
				for _, taps := range []int{1, 9} {
					add(Conv(t, taps, ConvArgs{Rows: n * 64, Ci: c, Co: c, Sums: 256}))
					add(Wgrad(t, taps, WgradArgs{Rows: n * 64, Ci: c, Co: c, Splits: 4}))
					add(Wgrad(t, taps, WgradArgs{Rows: n * 64, Ci: c, Co: c, InScale: 256, InShift: 256, InAct: ActMish, Splits: 4}))
				}
				add(BNInput(t, BNInputArgs{Boards: n, Padded: c}), Join(t, JoinArgs{Boards: n, Padded: c}))
				add(JoinBackward(t, JoinBackwardArgs{Boards: n, Padded: c}), ColumnSums(t, ColumnSumsArgs{Rows: n * 64, Columns: c, Real: c - 3}))
			}
			add(Expand(t, ExpandArgs{Boards: n}), Pack(t, PackArgs{Count: 100}, 9*int(n)*64))
			add(Men(t, MenArgs{Boards: n}), Embed(t, EmbedArgs{Boards: n}), LayerNorm(t, LayerNormArgs{Rows: n * 64}))
			add(Attend(t, AttendArgs{Boards: n, Heads: 32}), AttendBackward(t, AttendBackwardArgs{Boards: n, Heads: 32}), AttentionPolicy(t, AttentionPolicyArgs{}, boards))
			add(AttentionLogits(t, AttentionLogitsArgs{Boards: n}), AttentionLogitsBackward(t, AttentionLogitsBackwardArgs{Boards: n}))
			add(SaidGradient(t, SaidGradientArgs{Boards: n}), GateBackward(t, GateBackwardArgs{Width: 64 * n}), LayerNormBackward(t, LayerNormBackwardArgs{Rows: n, Width: 16 * n}))
			add(PolicyLoss(t, PolicyLossArgs{Rows: n, Width: 5120}), ScalarLoss(t, ScalarLossArgs{Rows: n, Width: 16, Terms: 1}), AuxLoss(t, AuxLossArgs{Rows: n}))
		}
		for _, c := range []int32{16, 32, 64, 128, 256, 512} {
			add(BNForward(BNForwardArgs{Boards: n, Channels: c, Padded: c}), BNBackward(BNBackwardArgs{Boards: n, Channels: c, Padded: c}))
			add(SEForward(SEForwardArgs{Boards: n, Channels: c, Padded: c, Units: 32}), SEBackward(SEBackwardArgs{Boards: n, Channels: c, Padded: c, Units: 32}))
			add(Outer(OuterArgs{Boards: n}, []OuterLayer{{Rows: 2 * c, Columns: 32}, {Rows: 32, Columns: c}}))
		}
		add(WgradReduce(WgradReduceArgs{Splits: 4, Taps: 9, Co: 64, Ci: 64, RealCo: 64, RealCi: 64}))
		add(Gather(GatherArgs{Rows: n}))
		add(HeadFC2(HeadFC2Args{}, boards), HeadOutputs(HeadOutputsArgs{}, boards), PolicyGather(PolicyGatherArgs{}, boards))
		for _, t := range []Type{BF16, FP16} {
			add(HeadFC1(t, HeadFC1Args{Layer: [3]HeadLayer{{Inputs: 2048, Outputs: 128}}}, boards))
			small := driver.Info{Major: 8, Minor: 6, SMs: 28, SharedPerSM: 100 << 10, SharedPerCTA: sharedHalf}
			if shape, ok := firstShape(small, 64, 256, boards); ok {
				add(Tower(t, TowerArgs{Channels: 64, Blocks: 6, Vector: 256}, shape, boards))
			}
		}
	}
	for _, n := range []int32{256, 1 << 24} {
		add(PrepareGradient(PrepareGradientArgs{N: n}), SGD(StepArgs{N: n}), AdamW(StepArgs{N: n}), NAdamW(StepArgs{N: n}), KeepRunning(KeepRunningArgs{N: n}), AddPart(AddPartArgs{N: n}))
	}
	add(FinishNorm(FinishNormArgs{Parts: 10, Running: 10}))
	return all
}

// TestLaunchesFitKernels: every kernel that a constructor names is embedded, takes
// the block that it is launched with and the arguments, within the limits of the
// smallest device; and no kernel is embedded that no constructor names.
func TestLaunchesFitKernels(t *testing.T) {
	entries := map[string]entry{}
	for _, e := range allEntries(t) {
		entries[e.name] = e
	}
	used := map[string]bool{}
	for _, l := range allLaunches() {
		used[l.Kernel] = true
		e, ok := entries[l.Kernel]
		if !ok {
			t.Errorf("kernel %s is not embedded", l.Kernel)
			continue
		}
		if threads := l.Block.X * l.Block.Y * l.Block.Z; threads < 1 || threads > e.threads {
			t.Errorf("kernel %s: block %v, it takes up to %d threads", l.Kernel, l.Block, e.threads)
		}
		if g := l.Grid; g.X < 1 || g.Y < 1 || g.Z < 1 || g.Y > 65535 || g.Z > 65535 {
			t.Errorf("kernel %s: grid %v", l.Kernel, g)
		}
		limit := sharedF32
		if strings.HasSuffix(e.module, halfSuffix) {
			limit = sharedHalf
		}
		if l.Shared < 0 || l.Shared > limit {
			t.Errorf("kernel %s: %d bytes of shared memory, the smallest device has %d", l.Kernel, l.Shared, limit)
		}
		if want := argumentsOf(l.Kernel); want == nil || len(l.Args) != int(want.Size()) {
			t.Errorf("kernel %s: %d bytes of arguments for %v", l.Kernel, len(l.Args), want)
		}
	}
	for name := range entries {
		if !used[name] {
			t.Errorf("kernel %s: no constructor names it", name)
		}
	}
}
