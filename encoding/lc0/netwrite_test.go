package lc0

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/reference"
	"github.com/chessbrain/chessbrain/nn"
)

func writtenNet(t testing.TB, n *nn.Net, info *NetInfo, e LayerEncoding) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := WriteNet(&buf, n, info, e); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func readBack(t testing.TB, data []byte) (*nn.Net, *NetInfo) {
	t.Helper()
	n, info, err := ReadNet(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Validate(); err != nil {
		t.Fatal(err)
	}
	return n, info
}

// What is written reads back: Float32 bit for bit but for plane 109, which is
// divided and multiplied and may be one last bit off; others to half a step.
func TestWriteNet(t *testing.T) {
	all := []LayerEncoding{Linear16, Float16, BFloat16, Float32}
	for name, encodings := range map[string][]LayerEncoding{
		"8x2": all, "8x1-attention": all, "16x1-se2": {Linear16}, "8x1-plain": {Float32}, "8x2-mish-scalar-noml": {Linear16, BFloat16},
		"4x1-classical": {Linear16}, "4x1-plain-classical-scalar-noml": {Float32}, // 3.8 million weights each
	} {
		n := sample(t, name)
		for _, e := range encodings {
			want := &NetInfo{License: "CC0", MinVersion: minVersion(n.Arch, [3]uint32{}, e), TrainingSteps: 1234}
			got, info := readBack(t, writtenNet(t, n, want, e))
			if *info != *want {
				t.Errorf("%s, %s: info %+v, want %+v", name, e, *info, *want)
			}
			if got.Arch.SEUnits() != n.Arch.SEUnits() || name != "16x1-se2" && !got.Arch.Equal(n.Arch) { // 16/2 units: what ratio 4 gives too
				t.Errorf("%s, %s: architecture %+v", name, e, got.Arch)
			}
			for i := range n.Params {
				checkRoundTrip(t, n.Arch, e, &got.Params[i], &n.Params[i])
			}
		}
	}
}

func checkRoundTrip(t *testing.T, a nn.Arch, e LayerEncoding, got, want *nn.Param) {
	t.Helper()
	stored := slices.Clone(want.Data) // as plies, where that is what is rounded
	leelas(a, want.Name, stored, false)
	steps := stepsOf(stored, e)
	for i, v := range want.Data {
		limit := steps[i]
		if want.Name == "input.conv.weight" && i/9%112 == 109 {
			limit = 99*limit + math.Abs(float64(v))/(1<<23)
		}
		if d := math.Abs(float64(got.Data[i]) - float64(v)); d > limit {
			t.Fatalf("%s: %s[%d] is %v, want %v, at most %g off", e, want.Name, i, got.Data[i], v, limit)
		}
	}
}

// A pooled value head is an ordinary one in a file, which computes the same, and an
// auxiliary head is not there.
func TestWriteNetPooled(t *testing.T) {
	n := sample(t, "8x1-pooled-aux")
	for _, folded := range []bool{false, true} {
		got, _ := readBack(t, writtenNet(t, n, &NetInfo{Folded: folded}, Float32))
		if want := sample(t, "8x1").Arch; !got.Arch.Equal(want) {
			t.Errorf("read back as %+v, want %+v", got.Arch, want)
		}
		sameOutputs(t, "a pooled net", got, n, 1e-5)
	}
	if n.Arch.String() != "8x1-se-pooled-aux" || n.Validate() != nil {
		t.Errorf("the net that was written has become %s: %v", n.Arch, n.Validate())
	}
}

// A folded file computes what the net does, says so, and stays as it is.
func TestWriteNetFolded(t *testing.T) {
	for _, name := range []string{"8x2", "4x1-plain-mish-scalar-noml"} {
		n := sample(t, name)
		got, info := readBack(t, writtenNet(t, n, &NetInfo{Folded: true}, Float32))
		if !info.Folded {
			t.Error("the file does not show that it is folded")
		}
		if mean := got.Get("tower.0.bn1.mean"); mean[0] != 0 {
			t.Errorf("a mean of %v in a folded file", mean[0])
		}
		sameOutputs(t, name, got, n, 1e-4)
		data := writtenNet(t, got, info, Float32)
		again, _ := readBack(t, data)
		for i, p := range got.Params {
			for j, v := range p.Data {
				if w := again.Params[i].Data[j]; w != v && (p.Name != "input.conv.weight" || j/9%112 != 109) {
					t.Fatalf("%s[%d] goes from %v to %v in a second round", p.Name, j, v, w)
				}
			}
		}
	}
}

// sameOutputs compares two nets on random positions: relative to the scale of
// the first one's logits.
func sameOutputs(t *testing.T, what string, got, want *nn.Net, tolerance float64) {
	t.Helper()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 2))
	for range 2 {
		masks, s := randomInput(rng)
		a, b := reference.Forward(got, masks, s), reference.Forward(want, masks, s)
		compare := func(head string, x, y []float64) {
			scale := 1.0
			for _, v := range y {
				scale = max(scale, math.Abs(v))
			}
			for i := range y {
				if math.Abs(x[i]-y[i]) > tolerance*scale {
					t.Fatalf("%s, seed %d: %s %d is %v, want %v", what, seed, head, i, x[i], y[i])
				}
			}
		}
		compare("policy", a.Policy, b.Policy)
		compare("value", a.Value, b.Value)
		compare("moves left", []float64{a.MovesLeft}, []float64{b.MovesLeft})
	}
}

// randomInput returns planes as thin as a position's, not those of a position.
func randomInput(rng *rand.Rand) (*[encoding.NumMasks]uint64, *encoding.Scalars) {
	var masks [encoding.NumMasks]uint64
	for i := range masks {
		masks[i] = rng.Uint64() & rng.Uint64() & rng.Uint64()
	}
	bit := func() uint8 { return uint8(rng.UintN(2)) }
	return &masks, &encoding.Scalars{OurOOO: bit(), OurOO: bit(), TheirOOO: bit(), TheirOO: bit(), BlackToMove: bit(), Rule50: uint8(rng.UintN(100))}
}

// TestWriteNetWire reads a file by the field numbers of docs/FORMATS.md alone.
func TestWriteNetWire(t *testing.T) {
	n := sample(t, "8x1")
	x := n.Get("input.conv.weight")
	for i := range x {
		x[i] = 0
	}
	x[109*9+4], x[0] = 99, -1
	data, err := unpack(bytes.NewReader(writtenNet(t, n, &NetInfo{TrainingSteps: 5}, Linear16)))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte{0x0d, 0xc0, 0x01, 0, 0}) {
		t.Errorf("the file begins with % x", data[:5])
	}
	for _, c := range []struct {
		path string
		want uint64
	}{
		{"1", 0x1c0}, {"3/1", 0}, {"3/2", 21}, {"4/1", 1}, {"5/1", 5},
		{"4/2/1", 1}, {"4/2/2", 2}, {"4/2/3", 4}, {"4/2/4", 2}, {"4/2/5", 2}, {"4/2/6", 1}, {"4/2/7", 0},
		{"10/1/1/1", uint64(math.Float32bits(-1))}, {"10/1/1/2", uint64(math.Float32bits(1))}, // plane 109: 99/99
	} {
		if got, ok := number(data, c.path); !ok || got != c.want {
			t.Errorf("field %s is %d, %v, want %d", c.path, got, ok, c.want)
		}
	}
	for path, size := range map[string]int{
		"10/1/1/3": 2 * 8 * 112 * 9, "10/1/3/3": 16, "10/1/4/3": 16, "10/1/5/3": 16, "10/1/6/3": 16,
		"10/2/1/1/3": 2 * 8 * 8 * 9, "10/2/3/1/3": 2 * 8 * 8, "10/2/3/3/3": 2 * 16 * 8, "10/2/3/4/3": 2 * 16,
		"10/11/1/3": 2 * 8 * 8 * 9, "10/3/1/3": 2 * 80 * 8 * 9, "10/3/2/3": 160,
		"10/6/1/3": 2 * 3 * 8, "10/7/3": 2 * 5 * 3 * 64, "10/8/3": 10, "10/9/3": 2 * 3 * 5, "10/10/3": 6,
		"10/12/1/3": 2 * 2 * 8, "10/13/3": 2 * 4 * 2 * 64, "10/14/3": 8, "10/15/3": 8, "10/16/3": 2,
	} {
		if got := find(data, path); len(got) != size {
			t.Errorf("field %s has %d bytes, want %d", path, len(got), size)
		}
	}
	params := find(data, "10/1/1/3")
	for at, want := range map[int][2]byte{0: {0, 0}, 109*9 + 4: {0xff, 0xff}, 1: {0x00, 0x80}} { // 0 lies at step 32767.5
		if got := [2]byte(params[2*at:]); got != want {
			t.Errorf("weight %d is stored as % x, want % x", at, got, want)
		}
	}
	if _, ok := number(data, "10/1/1/4"); ok {
		t.Error("a Linear16 layer names its encoding")
	}
	if v := readVersion(t, sample(t, "8x1-mish-noml"), Linear16); v != [3]uint32{0, 29, 0} {
		t.Errorf("mish wants %v", v)
	}
	if v := readVersion(t, n, BFloat16); v != [3]uint32{0, 33, 0} {
		t.Errorf("bfloat16 wants %v", v)
	}
}

func readVersion(t *testing.T, n *nn.Net, e LayerEncoding) [3]uint32 {
	t.Helper()
	_, info := readBack(t, writtenNet(t, n, nil, e))
	return info.MinVersion
}

// find returns the content of the first field at a path of numbers, nil without.
func find(data []byte, path string) []byte {
	for part := range strings.SplitSeq(path, "/") {
		var found []byte
		for rest := data; len(rest) > 0 && found == nil; {
			num, kind, size := protowire.ConsumeTag(rest)
			if size < 0 {
				return nil
			}
			rest = rest[size:]
			value := protowire.ConsumeFieldValue(num, kind, rest)
			if value < 0 {
				return nil
			}
			if fmt.Sprint(int(num)) == part {
				found = rest[:value]
				if kind == protowire.BytesType {
					found, _ = protowire.ConsumeBytes(found)
				}
			}
			rest = rest[value:]
		}
		if data = found; data == nil {
			return nil
		}
	}
	return data
}

// number returns a varint or a fixed32 field.
func number(data []byte, path string) (uint64, bool) {
	b := find(data, path)
	if b == nil {
		return 0, false
	}
	if len(b) == 4 {
		v, _ := protowire.ConsumeFixed32(b)
		return uint64(v), true
	}
	v, size := protowire.ConsumeVarint(b)
	return v, size > 0
}

// Files from before the formats of heads were named: classical heads.
func TestReadOldNet(t *testing.T) {
	n := sample(t, "1x1-plain-classical-scalar-noml")
	file, err := netFile(n, nil, Linear16)
	if err != nil {
		t.Fatal(err)
	}
	format := file.Format
	old := int32(oldClassical)
	format.NetworkFormat.Network, format.NetworkFormat.Policy, format.NetworkFormat.Value = &old, nil, nil
	if got, _ := readBack(t, marshal(t, file)); !got.Arch.Equal(n.Arch) {
		t.Errorf("with a network format: %s, want %s", got.Arch, n.Arch)
	}
	file.Format = nil
	if got, _ := readBack(t, marshal(t, file)); !got.Arch.Equal(n.Arch) {
		t.Errorf("without a format: %s, want %s", got.Arch, n.Arch)
	}
}

func TestWriteNetRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*nn.Net)
		e     LayerEncoding
		want  error
		say   string
	}{
		"encoding":     {func(*nn.Net) {}, 0, ErrUnsupported, "encoding 0"},
		"NaN":          {func(n *nn.Net) { n.Params[0].Data[7] = float32(math.NaN()) }, Linear16, nn.ErrNotFinite, "input.conv.weight[7]"},
		"variance":     {func(n *nn.Net) { n.Get("input.bn.var")[0] = -1 }, Linear16, nn.ErrParams, "input.bn.var[0]"},
		"missing":      {func(n *nn.Net) { n.Params = n.Params[1:] }, Linear16, nn.ErrParams, ""},
		"architecture": {func(n *nn.Net) { n.Arch.Blocks[0].Width = 0 }, Linear16, nn.ErrArch, ""},
		"beyond":       {func(n *nn.Net) { n.Get("value.fc1.bias")[1] = 1e6 }, Float16, ErrUnsupported, "value.fc1.bias: "},
	} {
		n := sample(t, "8x1")
		c.spoil(n)
		var buf bytes.Buffer
		if err := WriteNet(&buf, n, nil, c.e); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.say) || buf.Len() > 0 {
			t.Errorf("%s: %v, %d bytes", name, err, buf.Len())
		}
	}
	sparse := nn.Init(nn.SparseArch(nn.SparseBlock), 1)
	if err := WriteNet(io.Discard, sparse, nil, Linear16); !errors.Is(err, nn.ErrArch) || !strings.Contains(err.Error(), "a Leela network file takes a tower") {
		t.Errorf("a sparse net: %v", err)
	}
	if err := WriteONNX(io.Discard, sparse, nil); !errors.Is(err, nn.ErrArch) || !strings.Contains(err.Error(), "an ONNX file takes a tower") {
		t.Errorf("a sparse net: %v", err)
	}
	n, want := sample(t, "8x1"), errors.New("disk")
	if err := WriteNet(failing{want}, n, nil, Linear16); !errors.Is(err, want) {
		t.Errorf("the writer's error is %v", err)
	}
}

// failing is a writer that fails.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// The same net gives the same file.
func TestWriteNetIsDeterministic(t *testing.T) {
	n := sample(t, "8x1")
	if !bytes.Equal(writtenNet(t, n, nil, Linear16), writtenNet(t, n.Clone(), nil, Linear16)) {
		t.Error("two files of one net differ")
	}
}

func TestIsNet(t *testing.T) {
	n := sample(t, "8x1")
	data := writtenNet(t, n, nil, Linear16)
	plain, err := unpack(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var safe bytes.Buffer
	if err := nn.WriteSafetensors(&safe, n, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		head []byte
		want bool
	}{{data[:16], true}, {plain[:16], true}, {safe.Bytes()[:16], false}, {nil, false}, {[]byte{0x1f}, false}} {
		if IsNet(c.head) != c.want {
			t.Errorf("% x: %v, want %v", c.head, !c.want, c.want)
		}
	}
}
