package lc0

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/encoding/lc0/netpb"
	"github.com/chessbrain/chessbrain/nn"
)

// A net of ours in Leela's form reads back: with float32 to the last bits (the
// division and product of plane 109 round), with LINEAR16 to half a step.
func TestReadNet(t *testing.T) {
	for _, name := range []string{"8x2", "16x1-se2", "8x1-plain", "8x1-mish-scalar-noml"} {
		n := sample(t, name)
		for encoding, steps := range map[int32]float64{int32(Float32): 1e7, int32(Linear16): 65535} {
			data := marshal(t, fileOf(n, encoding))
			got, info, err := ReadNet(iotest.HalfReader(bytes.NewReader(zipped(t, data))))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got.Arch.SEUnits() != n.Arch.SEUnits() || got.Arch.String() != n.Arch.String() && name != "16x1-se2" {
				t.Errorf("architecture %+v, want %+v", got.Arch, n.Arch)
			}
			if err := got.Validate(); err != nil {
				t.Fatal(err)
			}
			if info.License != "none" || info.MinVersion != [3]uint32{0, 21, 0} || info.TrainingSteps != 77 {
				t.Errorf("info %+v", info)
			}
			for i, p := range n.Params {
				checkClose(t, name, &got.Params[i], &p, steps)
			}
			if _, _, err := ReadNet(bytes.NewReader(data)); err != nil {
				t.Errorf("not zipped: %v", err)
			}
		}
	}
}

func checkClose(t *testing.T, net string, got, want *nn.Param, steps float64) {
	t.Helper()
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range want.Data {
		lo, hi = min(lo, float64(v)), max(hi, float64(v))
	}
	limit := (hi-lo)/steps + 1e-6
	for i, v := range want.Data {
		scale := 1.
		if want.Name == "input.conv.weight" && i/9%112 == 109 {
			scale = 99
		}
		if d := math.Abs(float64(got.Data[i] - v)); !(d <= limit*scale) {
			t.Fatalf("%s, %s[%d] is %v, want %v", net, want.Name, i, got.Data[i], v)
		}
	}
}

// A file without batch norm is folded; a bias beside batch norm moves the mean.
func TestReadNetFolded(t *testing.T) {
	n := sample(t, "8x1")
	want := nn.Fold(n)
	f := fileOf(n, int32(Float32))
	c := f.Weights.Residual[0].Conv1
	c.Weights, c.Biases = layer(int32(Float32), want.Blocks[1].Convs[0].Weight), layer(int32(Float32), want.Blocks[1].Convs[0].Bias)
	c.BnMeans, c.BnStddivs, c.BnGammas, c.BnBetas = nil, nil, nil, nil
	bias := []float32{1, 2, 3, 4, 5, 6, 7, 8}
	f.Weights.Residual[0].Conv2.Biases = layer(int32(Float32), bias)
	got, _, err := ReadNet(bytes.NewReader(marshal(t, f)))
	if err != nil {
		t.Fatal(err)
	}
	again := nn.Fold(got)
	for i, v := range want.Blocks[1].Convs[0].Weight {
		if math.Abs(float64(again.Blocks[1].Convs[0].Weight[i]-v)) > 1e-6 {
			t.Fatalf("weight %d is %v, want %v", i, again.Blocks[1].Convs[0].Weight[i], v)
		}
	}
	gamma, variance := n.Get("tower.0.bn2.gamma"), n.Get("tower.0.bn2.var")
	for i := range bias {
		if got, want := again.Blocks[1].Convs[0].Bias[i], want.Blocks[1].Convs[0].Bias[i]; math.Abs(float64(got-want)) > 1e-6 {
			t.Errorf("bias %d is %v, want %v", i, got, want)
		}
		s := gamma[i] / float32(math.Sqrt(float64(variance[i])+1e-5))
		if got, want := again.Blocks[1].Convs[1].Bias[i], want.Blocks[1].Convs[1].Bias[i]+bias[i]*s; math.Abs(float64(got-want)) > 1e-5 {
			t.Errorf("moved bias %d is %v, want %v", i, got, want)
		}
	}
}

func TestReadNetRefuses(t *testing.T) {
	n := sample(t, "8x2")
	good := marshal(t, fileOf(n, int32(Linear16)))
	spoiled := func(spoil func(f *netpb.Net, nf *netpb.NetworkFormat)) []byte {
		f := fileOf(n, int32(Linear16))
		spoil(f, f.Format.NetworkFormat)
		return marshal(t, f)
	}
	z := zipped(t, good)
	bomb := zipped(t, protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), make([]byte, 80<<20))) // a licence
	blocks := make([]*netpb.Residual, maxNetMessages)
	for i := range blocks {
		blocks[i] = &netpb.Residual{}
	}
	type format = netpb.NetworkFormat
	for name, c := range map[string]struct {
		in   []byte
		want error
		say  string
	}{
		"empty":        {nil, ErrCorrupt, "magic"},
		"text":         {[]byte("hello, world"), ErrCorrupt, ""},
		"cut":          {good[:len(good)/2], ErrCorrupt, ""},
		"cut gzip":     {z[:len(z)/2], ErrCorrupt, ""},
		"gzip header":  {[]byte{0x1f, 0x8b, 1}, ErrCorrupt, ""},
		"bomb":         {bomb, ErrUnsupported, "more than 6"}, // 64 MiB and a little, of 80
		"many blocks":  {spoiled(func(f *netpb.Net, _ *format) { f.Weights.Residual = blocks }), ErrCorrupt, "more than 65536 layers"},
		"magic":        {spoiled(func(f *netpb.Net, _ *format) { f.Magic = proto.Uint32(1) }), ErrCorrupt, "magic"},
		"input":        {spoiled(func(_ *netpb.Net, f *format) { f.Input = proto.Int32(6) }), ErrUnsupported, "input format 6"},
		"attention":    {spoiled(func(_ *netpb.Net, f *format) { f.Network = proto.Int32(6) }), ErrCorrupt, "0 encoders"},
		"network":      {spoiled(func(_ *netpb.Net, f *format) { f.Network = proto.Int32(5) }), ErrUnsupported, "network structure 5"},
		"policy":       {spoiled(func(_ *netpb.Net, f *format) { f.Policy = proto.Int32(4) }), ErrUnsupported, "policy head 4"},
		"activation":   {spoiled(func(_ *netpb.Net, f *format) { f.DefaultActivation = proto.Int32(5) }), ErrUnsupported, "activation 5"},
		"value":        {spoiled(func(_ *netpb.Net, f *format) { f.Value = proto.Int32(1) }), ErrCorrupt, "output format"},
		"no format":    {spoiled(func(f *netpb.Net, _ *format) { f.Format = nil }), ErrUnsupported, "classical policy head"},
		"policy BN":    {spoiled(func(f *netpb.Net, _ *format) { f.Weights.Policy.BnMeans = f.Weights.Policy.Biases }), ErrUnsupported, "batch norm"},
		"dense policy": {spoiled(func(_ *netpb.Net, f *format) { f.Policy = proto.Int32(1) }), ErrUnsupported, "720 channels"},
		"SE missing":   {spoiled(func(f *netpb.Net, _ *format) { f.Weights.Residual[1].Se = nil }), ErrUnsupported, "block 1 has 0"},
		"encoding":     {spoiled(func(f *netpb.Net, _ *format) { f.Weights.Ip2ValB.Encoding = proto.Int32(9) }), ErrUnsupported, "encoding 9"},
		"no weights":   {spoiled(func(f *netpb.Net, _ *format) { f.Weights = nil }), ErrCorrupt, "0 residual"},
		"short layer":  {spoiled(func(f *netpb.Net, _ *format) { f.Weights.Policy.Biases.Params = []byte{1, 2} }), ErrCorrupt, "policy.conv2.bias"},
		"block":        {spoiled(func(f *netpb.Net, _ *format) { f.Weights.Residual[0].Conv2 = nil }), ErrCorrupt, "tower.0.conv2.weight"},
		"half BN":      {spoiled(func(f *netpb.Net, _ *format) { f.Weights.Input.BnStddivs = nil }), ErrCorrupt, "input.bn.var"},
		"units":        {spoiled(func(f *netpb.Net, _ *format) { f.Weights.Residual[0].Se.B1.Params = make([]byte, 6) }), ErrUnsupported, "3 squeeze"},
		"not finite":   {spoiled(func(f *netpb.Net, _ *format) { f.Weights.Ip2ValB.MaxVal = proto.Float32(float32(math.NaN())) }), ErrCorrupt, "value.fc2.bias"},
		"more blocks":  {spoiled(func(f *netpb.Net, _ *format) { f.Weights.Residual = append(f.Weights.Residual, &netpb.Residual{}) }), ErrUnsupported, "block 2 has 0"},
		"value hidden": {spoiled(func(f *netpb.Net, _ *format) { f.Weights.Ip1ValB = nil }), ErrUnsupported, "value_hidden"},
	} {
		if _, _, err := ReadNet(bytes.NewReader(c.in)); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.want, c.say)
		}
	}
	want := errors.New("disk")
	if _, _, err := ReadNet(io.MultiReader(bytes.NewReader(good[:9]), iotest.ErrReader(want))); !errors.Is(err, want) {
		t.Errorf("the reader's error is %v", err)
	}
}

// Whatever bytes come, ReadNet returns a valid net or one of its errors, and a
// net that it returns can be written and read again.
func FuzzReadNet(f *testing.F) {
	add := func(name string, info *NetInfo, e LayerEncoding) {
		file, err := netFile(sample(f, name), info, e)
		if err != nil {
			f.Fatal(err)
		}
		data := marshal(f, file)
		f.Add(data)
		f.Add(zipped(f, data))
	}
	add("1x1", nil, Linear16)
	add("2x1-plain-scalar-noml", &NetInfo{Folded: true}, Float32)
	add("1x1-se2-mish", nil, BFloat16)
	add("1x1-noml", nil, Float16)
	add("1x1x1h-soft-q", nil, Float16)
	f.Fuzz(func(t *testing.T, data []byte) {
		n, info, err := ReadNet(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
				t.Fatalf("error %v", err)
			}
			return
		}
		if err := n.Validate(); err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		if err := WriteNet(&buf, n, info, Float32); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ReadNet(&buf); err != nil {
			t.Fatal(err)
		}
	})
}
