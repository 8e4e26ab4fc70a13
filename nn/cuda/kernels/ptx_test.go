package kernels

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels/gen/source"
)

// entry is a kernel as its PTX declares it.
type entry struct {
	module, name string
	parameters   []string // declarations
	threads      int      // of the largest block
}

var (
	declarationPattern = regexp.MustCompile(`(?s)\.entry\s+(\w+)\((.*?)\)\s*(.*?)\{`)
	parameterPattern   = regexp.MustCompile(`^\.param \.align (\d+) \.b8 \w+\[(\d+)\]$`)
	threadsPattern     = regexp.MustCompile(`\.maxntid (\d+), (\d+), (\d+)`)
)

// declarations reads the kernels of a module.
func declarations(module string, text []byte) []entry {
	var all []entry
	for _, m := range declarationPattern.FindAllStringSubmatch(string(text), -1) {
		e := entry{module: module, name: m[1]}
		for p := range strings.SplitSeq(m[2], ",") {
			if p = strings.TrimSpace(p); p != "" {
				e.parameters = append(e.parameters, p)
			}
		}
		if n := threadsPattern.FindStringSubmatch(m[3]); n != nil {
			e.threads = 1
			for _, side := range n[1:] {
				v, _ := strconv.Atoi(side)
				e.threads *= v
			}
		}
		all = append(all, e)
	}
	return all
}

// allEntries reads the kernels of all embedded modules.
func allEntries(t *testing.T) []entry {
	t.Helper()
	names, err := modules()
	if err != nil {
		t.Fatal(err)
	}
	var all []entry
	for _, name := range names {
		text, err := ptx(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, declarations(name, text)...)
	}
	if len(all) == 0 {
		t.Fatal("no PTX is embedded: run go generate ./nn/cuda/kernels")
	}
	return all
}

// wrongArguments says what a kernel declares other than its one argument struct, or nil.
func wrongArguments(e entry) error {
	want := argumentsOf(e.name)
	if want == nil {
		return fmt.Errorf("package signatures has no struct for it")
	}
	if len(e.parameters) != 1 {
		return fmt.Errorf("%d parameters, want one struct", len(e.parameters))
	}
	m := parameterPattern.FindStringSubmatch(e.parameters[0])
	if m == nil {
		return fmt.Errorf("parameter %q is no struct", e.parameters[0])
	}
	if size := strconv.Itoa(int(want.Size())); m[2] != size || m[1] != strconv.Itoa(want.Align()) {
		return fmt.Errorf("arguments of %s bytes aligned to %s, %s has %s aligned to %d", m[2], m[1], want.Name(), size, want.Align())
	}
	return nil
}

// TestKernelArguments compares the parameter block of every kernel with its Go struct.
func TestKernelArguments(t *testing.T) {
	seen := map[string]string{}
	for _, e := range allEntries(t) {
		if err := wrongArguments(e); err != nil {
			t.Errorf("%s: kernel %s: %v", e.module, e.name, err)
		}
		if other := seen[e.name]; other != "" {
			t.Errorf("kernel %s is in %s and in %s", e.name, other, e.module)
		}
		if e.threads == 0 || e.threads > 1024 {
			t.Errorf("%s: kernel %s: the largest block has %d threads, want 1 to 1024 (KERNEL gives it)", e.module, e.name, e.threads)
		}
		seen[e.name] = e.module
	}
}

// TestModulesAreCurrent compares what each module says of itself with its source:
// the compiler, the target, the version of PTX, and the hash of all sources.
func TestModulesAreCurrent(t *testing.T) {
	sources, err := source.Files(".")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, name := range sources {
		for _, v := range source.Variants {
			module := name + "." + v.Name
			want = append(want, module)
			text, err := ptx(module)
			if err != nil {
				t.Errorf("%v: run go generate ./nn/cuda/kernels", err)
				continue
			}
			header, err := source.Header(".", name, v)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(text), header) {
				t.Errorf("%s is older than its sources: run go generate ./nn/cuda/kernels (nvcc %s)", module, source.Compiler)
				continue
			}
			begin := fmt.Sprintf(".version %s\n.target %s\n.address_size 64\n", source.ISA, v.Target)
			if !strings.HasPrefix(string(text[len(header):]), begin) {
				t.Errorf("%s does not begin with\n%s", module, begin)
			}
		}
	}
	have, err := modules()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("embedded modules %q, sources give %q", have, want)
	}
}

// TestWrongArgumentsAreSeen shows that the comparison can fail.
func TestWrongArgumentsAreSeen(t *testing.T) {
	const text = `.version 7.8
.visible .entry sgd(
.param .align 8 .b8 sgd_param_0[%d]
)
.maxntid 256, 2, 1
{
ret;
}`
	size := int(argumentsOf("sgd").Size())
	good := declarations("m", fmt.Appendf(nil, text, size))
	if len(good) != 1 || good[0].threads != 512 {
		t.Fatalf("read %+v", good)
	}
	if err := wrongArguments(good[0]); err != nil {
		t.Errorf("right arguments are refused: %v", err)
	}
	if wrongArguments(declarations("m", fmt.Appendf(nil, text, size+8))[0]) == nil {
		t.Error("arguments that are too long are not refused")
	}
	two := good[0]
	two.parameters = append(two.parameters, two.parameters[0])
	if wrongArguments(two) == nil {
		t.Error("two parameters are not refused")
	}
	if wrongArguments(entry{name: "nobody", parameters: good[0].parameters}) == nil {
		t.Error("a kernel without a signature is not refused")
	}
}

// TestPTXRun: the emulator runs the embedded PTX as it is. An mma with two registers
// exchanged, a barrier left out, and instructions that no kernel has had so far are noticed.
func TestPTXRun(t *testing.T) {
	emulated.Only(t)
	const boards, heads, depth, width = 1, 2, 80, 160 // as many columns as take every path
	r := fresh(t)
	qkv := rounded(BF16, normal(r, boards*64*3*width, 0.7))
	of := func(x, y driver.Ptr) AttendArgs {
		return AttendArgs{Q: x, K: x.Offset(2 * width), V: x.Offset(4 * width), Y: y, Boards: boards, Heads: heads, Depth: depth, Stride: 3 * width, Width: width, Scale: 1}
	}
	attend := func(text string, races bool) ([]float32, error) {
		d := emulated.OpenWith(t, emulated.Options{PTX: true, Races: races})
		s, err := d.NewStream()
		must(t, err)
		m, err := d.Load("attention.half", []byte(text))
		if err != nil {
			return nil, errors.Join(err, s.Destroy())
		}
		f, err := m.Function("attend_bf16")
		must(t, err)
		in, out := upload(t, d, s, BF16, qkv), alloc(t, d, boards*64*width*2)
		l := Attend(BF16, of(in, out))
		if err := errors.Join(s.Launch(f, l.Grid, l.Block, l.Shared, l.Args), s.Synchronize()); err != nil {
			return nil, err
		}
		got := download(t, s, BF16, out, boards*64*width)
		must(t, errors.Join(s.Destroy(), m.Unload()))
		return got, nil
	}
	text, err := ptx("attention.half")
	must(t, err)
	d, k, s := open(t)
	a := of(upload(t, d, s, BF16, qkv), alloc(t, d, boards*64*width*2))
	run(t, k, s, Attend(BF16, a))
	want := download(t, s, BF16, a.Y, boards*64*width)
	differ := func(got []float32) (most float64) {
		for i := range got {
			if d := math.Abs(float64(got[i] - want[i])); !(d <= most) {
				most = d
			}
		}
		return most
	}
	for _, races := range []bool{false, true} {
		if got, err := attend(string(text), races); err != nil || !(differ(got) < 4*unitRoundoff(BF16)) {
			t.Fatalf("the PTX as it is: %v, differs by %g", err, differ(got))
		}
	}
	body := strings.Index(string(text), ".entry attend_bf16(")
	change := func(pattern, by string) string {
		at := regexp.MustCompile(pattern).FindStringSubmatchIndex(string(text[body:]))
		if at == nil {
			t.Fatalf("no %s", pattern)
		}
		return string(text[:body+at[0]]) + string(regexp.MustCompile(pattern).ExpandString(nil, by, string(text[body:]), at)) + string(text[body+at[1]:])
	}
	if got, err := attend(change(`(mma\S+\s+\{[^}]*\},\s*\{)(%\w+),\s*(%\w+)`, "$1$3, $2"), false); err != nil || differ(got) < 0.05 {
		t.Errorf("registers exchanged: %v, differs by %g", err, differ(got))
	}
	if why := emulated.RacesFound(); why != nil {
		t.Logf("SKIPPED, a barrier left out: %v", why)
	} else if _, err := attend(change(`(?s)(bar\.sync\s+0;.*?)bar\.sync\s+0;`, "$1"), true); err == nil || !strings.Contains(err.Error(), "attention.half.ptx:") {
		t.Errorf("no barrier: %v", err)
	}
	for _, code := range []string{"vote.sync.any.pred %p1, %p1, -1", "bar.sync 1", "add.rz.f32 %f1, %f1, %f1", "cvt.rni.s32.f32 %r1, %f1", "ld.global.nc.f32 %f1, [%rd1]", "max.NaN.f32 %f1, %f1, %f1"} {
		if _, err := attend(change(`bar\.sync\s+0;`, code+";"), false); err == nil || !strings.Contains(err.Error(), "no instruction "+strings.Fields(code)[0]) {
			t.Errorf("%s, which is not known: %v", code, err)
		}
	}
}
