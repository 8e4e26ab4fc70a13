package lc0

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/encoding/lc0/netpb"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/record"
)

// layer encodes numbers.
func layer(encoding int32, x []float32) *netpb.Layer {
	l := &netpb.Layer{}
	if encoding == int32(Float32) {
		l.Encoding = proto.Int32(encoding)
		for _, v := range x {
			l.Params = binary.LittleEndian.AppendUint32(l.Params, math.Float32bits(v))
		}
		return l
	}
	lo, hi := slices.Min(x), slices.Max(x)
	l.MinVal, l.MaxVal = proto.Float32(lo), proto.Float32(hi)
	for _, v := range x {
		u := 0.0
		if hi > lo {
			u = math.Round(float64(v-lo) / float64(hi-lo) * 65535)
		}
		l.Params = binary.LittleEndian.AppendUint16(l.Params, uint16(u))
	}
	return l
}

// fileOf writes a net of ours in Leela's form.
func fileOf(n *nn.Net, encoding int32) *netpb.Net {
	get := func(name string) *netpb.Layer { return layer(encoding, n.Get(name)) }
	conv := func(conv, bn string) *netpb.ConvBlock {
		w := slices.Clone(n.Get(conv + ".weight"))
		if conv == "input.conv" {
			for i := range w {
				if i/9%112 == 109 {
					w[i] /= 99
				}
			}
		}
		return &netpb.ConvBlock{Weights: layer(encoding, w), BnMeans: get(bn + ".mean"), BnStddivs: get(bn + ".var"), BnGammas: get(bn + ".gamma"), BnBetas: get(bn + ".beta")}
	}
	w := &netpb.Weights{
		Input: conv("input.conv", "input.bn"), Policy1: conv("policy.conv1", "policy.bn"),
		Policy: &netpb.ConvBlock{Weights: get("policy.conv2.weight"), Biases: get("policy.conv2.bias")},
		Value:  conv("value.conv", "value.bn"), Ip1ValW: get("value.fc1.weight"), Ip1ValB: get("value.fc1.bias"), Ip2ValW: get("value.fc2.weight"), Ip2ValB: get("value.fc2.bias"),
	}
	f := &netpb.NetworkFormat{Input: proto.Int32(1), Output: proto.Int32(2), Network: proto.Int32(4), Policy: proto.Int32(2), Value: proto.Int32(2)}
	if n.Arch.ValueForm() == nn.ValueScalar {
		f.Output, f.Value = proto.Int32(1), proto.Int32(1)
	}
	if n.Arch.Activation == nn.Mish {
		f.DefaultActivation = proto.Int32(1)
	}
	if n.Arch.Head(nn.MovesLeft) != nil {
		f.MovesLeft = proto.Int32(1)
		w.MovesLeft = conv("moves_left.conv", "moves_left.bn")
		w.Ip1MovW, w.Ip1MovB = get("moves_left.fc1.weight"), get("moves_left.fc1.bias")
		w.Ip2MovW, w.Ip2MovB = get("moves_left.fc2.weight"), get("moves_left.fc2.bias")
	}
	for i := range n.Arch.Blocks[1:] {
		name := fmt.Sprintf("tower.%d", i)
		r := &netpb.Residual{Conv1: conv(name+".conv1", name+".bn1"), Conv2: conv(name+".conv2", name+".bn2")}
		if n.Arch.SEUnits() > 0 {
			r.Se = &netpb.SEUnit{W1: get(name + ".se.fc1.weight"), B1: get(name + ".se.fc1.bias"), W2: get(name + ".se.fc2.weight"), B2: get(name + ".se.fc2.bias")}
		} else {
			f.Network = proto.Int32(3)
		}
		w.Residual = append(w.Residual, r)
	}
	return &netpb.Net{
		Magic: proto.Uint32(netMagic), License: proto.String("none"), MinVersion: &netpb.EngineVersion{Minor: proto.Uint32(21)},
		Format: &netpb.Format{WeightsEncoding: proto.Int32(int32(Linear16)), NetworkFormat: f}, Weights: w,
		TrainingParams: &netpb.TrainingParams{TrainingSteps: proto.Uint32(77)},
	}
}

func marshal(t testing.TB, f *netpb.Net) []byte {
	t.Helper()
	data, err := proto.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// bytesOf returns the records of a game, as they lie in a chunk.
func bytesOf(t testing.TB, g *record.Game, form Form) []byte {
	t.Helper()
	raw, err := AppendRecords(nil, g, form)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// sample returns a net with numbers everywhere; the head layers are small.
func sample(t testing.TB, name string) *nn.Net {
	t.Helper()
	a, err := nn.ParseArch(name)
	if err != nil {
		t.Fatal(err)
	}
	n := nn.Init(nntest.Resized(a, 3, 5, 2, 4), 3)
	for i, p := range n.Params {
		for j := range p.Data {
			p.Data[j] += float32(math.Abs(math.Sin(float64(i+7*j)))) / 2
		}
	}
	return n
}

// readChunk reads the records of a chunk, gzipped or not.
func readChunk(chunk []byte) ([]Record, error) {
	if isGzip(chunk) {
		raw, err := inflate(nil, chunk, maxChunkRecords*V7Size)
		if err != nil {
			return nil, err
		}
		chunk = raw
	}
	return DecodeRecords(chunk)
}
