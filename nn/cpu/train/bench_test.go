package train

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
)

// BenchmarkGraph measures the share of a forward and backward pass that Gorgonia's
// machine takes: the graph against its layers, called one after the other.
func BenchmarkGraph(b *testing.B) {
	a := nn.DefaultArch()
	tr := newTestTrainer(b, nn.Init(a, 1), testConfig(a, 64))
	batch := encoding.NewTrainBatch(64)
	nntest.AppendRows(batch, rand.New(rand.NewPCG(1, 1)), 64)
	tr.e.begin(batch, batchStats, true)
	graph, layers := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64) // the fastest of each
	for b.Loop() {
		start := time.Now()
		if _, err := tr.g.run(); err != nil {
			b.Fatal(err)
		}
		between := time.Now()
		withoutGraph(tr)
		graph, layers = min(graph, between.Sub(start)), min(layers, time.Since(between))
	}
	b.ReportMetric(100*float64(graph-layers)/float64(graph), "%gorgonia")
}

// withoutGraph does what a run of the graph does.
func withoutGraph(tr *trainer) {
	inputs := make([][]float32, len(tr.layers)+1)
	for i, l := range tr.layers {
		inputs[i+1] = l.forward(inputs[i])
	}
	last := len(tr.layers)
	tr.heads.forward(inputs[last])
	dy := tr.heads.backward(inputs[last])
	for i := last - 1; i >= 0; i-- {
		dy = tr.layers[i].backward(inputs[i], inputs[i+1], dy)
	}
}

// BenchmarkAttention is a forward and backward pass of attention nets.
func BenchmarkAttention(b *testing.B) {
	for _, name := range []string{"64x4x4h", "64x4x4h-smolgen", "128x6x8h"} {
		for _, p := range []device.Precision{device.BF16, device.FP32} {
			b.Run(name+"/"+p.String(), func(b *testing.B) {
				const rows = 256
				a := nntest.Arch(name)
				cfg := testConfig(a, rows)
				cfg.Precision = p
				tr := newTestTrainer(b, nn.Init(a, 1), cfg)
				batch := encoding.NewTrainBatch(rows)
				nntest.AppendRows(batch, rand.New(rand.NewPCG(1, 1)), rows)
				for b.Loop() {
					tr.e.version++ // weights are packed anew at each step
					tr.e.begin(batch, batchStats, true)
					if _, err := tr.g.run(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}
