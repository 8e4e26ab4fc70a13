package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// bf16Ops are the instructions by name.
func bf16Ops(t *testing.T) map[string]bf16Op {
	ops := map[string]bf16Op{}
	for _, op := range standIns {
		ops[op.name] = op
	}
	if len(ops) != len(standIns) {
		t.Fatalf("%d stand-ins for %d instructions", len(standIns), len(ops))
	}
	return ops
}

// The wanted bytes are GNU as 2.40's for the same operands in the same order
// (AT&T: sources, destination), with registers on both sides of 8, 16 and 31,
// where one of the prefix's inverted high bits changes.
func TestBF16Encodings(t *testing.T) {
	ops := bf16Ops(t)
	for _, c := range []struct {
		name string
		regs []int
		want []byte
	}{
		{"VDPBF16PS", []int{0, 0, 0}, []byte{0x62, 0xf2, 0x7e, 0x48, 0x52, 0xc0}},
		{"VDPBF16PS", []int{1, 2, 3}, []byte{0x62, 0xf2, 0x6e, 0x48, 0x52, 0xd9}},
		{"VDPBF16PS", []int{7, 7, 7}, []byte{0x62, 0xf2, 0x46, 0x48, 0x52, 0xff}},
		{"VDPBF16PS", []int{8, 7, 7}, []byte{0x62, 0xd2, 0x46, 0x48, 0x52, 0xf8}},
		{"VDPBF16PS", []int{7, 8, 7}, []byte{0x62, 0xf2, 0x3e, 0x48, 0x52, 0xff}},
		{"VDPBF16PS", []int{7, 7, 8}, []byte{0x62, 0x72, 0x46, 0x48, 0x52, 0xc7}},
		{"VDPBF16PS", []int{15, 15, 15}, []byte{0x62, 0x52, 0x06, 0x48, 0x52, 0xff}},
		{"VDPBF16PS", []int{16, 15, 15}, []byte{0x62, 0x32, 0x06, 0x48, 0x52, 0xf8}},
		{"VDPBF16PS", []int{15, 16, 15}, []byte{0x62, 0x52, 0x7e, 0x40, 0x52, 0xff}},
		{"VDPBF16PS", []int{15, 15, 16}, []byte{0x62, 0xc2, 0x06, 0x48, 0x52, 0xc7}},
		{"VDPBF16PS", []int{16, 16, 16}, []byte{0x62, 0xa2, 0x7e, 0x40, 0x52, 0xc0}},
		{"VDPBF16PS", []int{31, 0, 0}, []byte{0x62, 0x92, 0x7e, 0x48, 0x52, 0xc7}},
		{"VDPBF16PS", []int{0, 31, 0}, []byte{0x62, 0xf2, 0x06, 0x40, 0x52, 0xc0}},
		{"VDPBF16PS", []int{0, 0, 31}, []byte{0x62, 0x62, 0x7e, 0x48, 0x52, 0xf8}},
		{"VDPBF16PS", []int{31, 31, 31}, []byte{0x62, 0x02, 0x06, 0x40, 0x52, 0xff}},
		{"VDPBF16PS", []int{9, 18, 27}, []byte{0x62, 0x42, 0x6e, 0x40, 0x52, 0xd9}},
		{"VDPBF16PS", []int{24, 10, 5}, []byte{0x62, 0x92, 0x2e, 0x48, 0x52, 0xe8}},
		{"VCVTNEPS2BF16", []int{0, 0}, []byte{0x62, 0xf2, 0x7e, 0x48, 0x72, 0xc0}},
		{"VCVTNEPS2BF16", []int{1, 2}, []byte{0x62, 0xf2, 0x7e, 0x48, 0x72, 0xd1}},
		{"VCVTNEPS2BF16", []int{8, 7}, []byte{0x62, 0xd2, 0x7e, 0x48, 0x72, 0xf8}},
		{"VCVTNEPS2BF16", []int{7, 8}, []byte{0x62, 0x72, 0x7e, 0x48, 0x72, 0xc7}},
		{"VCVTNEPS2BF16", []int{15, 16}, []byte{0x62, 0xc2, 0x7e, 0x48, 0x72, 0xc7}},
		{"VCVTNEPS2BF16", []int{16, 15}, []byte{0x62, 0x32, 0x7e, 0x48, 0x72, 0xf8}},
		{"VCVTNEPS2BF16", []int{31, 0}, []byte{0x62, 0x92, 0x7e, 0x48, 0x72, 0xc7}},
		{"VCVTNEPS2BF16", []int{0, 31}, []byte{0x62, 0x62, 0x7e, 0x48, 0x72, 0xf8}},
		{"VCVTNEPS2BF16", []int{31, 31}, []byte{0x62, 0x02, 0x7e, 0x48, 0x72, 0xff}},
		{"VCVTNEPS2BF16", []int{24, 9}, []byte{0x62, 0x12, 0x7e, 0x48, 0x72, 0xc8}},
		{"VCVTNE2PS2BF16", []int{0, 0, 0}, []byte{0x62, 0xf2, 0x7f, 0x48, 0x72, 0xc0}},
		{"VCVTNE2PS2BF16", []int{1, 2, 3}, []byte{0x62, 0xf2, 0x6f, 0x48, 0x72, 0xd9}},
		{"VCVTNE2PS2BF16", []int{8, 7, 7}, []byte{0x62, 0xd2, 0x47, 0x48, 0x72, 0xf8}},
		{"VCVTNE2PS2BF16", []int{7, 8, 7}, []byte{0x62, 0xf2, 0x3f, 0x48, 0x72, 0xff}},
		{"VCVTNE2PS2BF16", []int{7, 7, 8}, []byte{0x62, 0x72, 0x47, 0x48, 0x72, 0xc7}},
		{"VCVTNE2PS2BF16", []int{16, 15, 15}, []byte{0x62, 0x32, 0x07, 0x48, 0x72, 0xf8}},
		{"VCVTNE2PS2BF16", []int{15, 16, 15}, []byte{0x62, 0x52, 0x7f, 0x40, 0x72, 0xff}},
		{"VCVTNE2PS2BF16", []int{15, 15, 16}, []byte{0x62, 0xc2, 0x07, 0x48, 0x72, 0xc7}},
		{"VCVTNE2PS2BF16", []int{31, 0, 0}, []byte{0x62, 0x92, 0x7f, 0x48, 0x72, 0xc7}},
		{"VCVTNE2PS2BF16", []int{0, 31, 0}, []byte{0x62, 0xf2, 0x07, 0x40, 0x72, 0xc0}},
		{"VCVTNE2PS2BF16", []int{0, 0, 31}, []byte{0x62, 0x62, 0x7f, 0x48, 0x72, 0xf8}},
		{"VCVTNE2PS2BF16", []int{31, 31, 31}, []byte{0x62, 0x02, 0x07, 0x40, 0x72, 0xff}},
		{"VCVTNE2PS2BF16", []int{9, 18, 27}, []byte{0x62, 0x42, 0x6f, 0x40, 0x72, 0xd9}},
	} {
		op, ok := ops[c.name]
		if !ok {
			t.Fatalf("no instruction %s", c.name)
		}
		if got := op.encode(c.regs); !bytes.Equal(got, c.want) {
			t.Errorf("%s %v: % x, want % x", c.name, c.regs, got, c.want)
		}
	}
}

// Every register must reach its own bits: no two encodings of all operands are
// the same.
func TestBF16EncodingsDiffer(t *testing.T) {
	seen := map[string]string{}
	for name, op := range bf16Ops(t) {
		for a := range 32 {
			for b := range 32 {
				for c := range 32 {
					regs := []int{a, b, c}
					if name == "VCVTNEPS2BF16" {
						if c > 0 {
							continue
						}
						regs = regs[:2]
					}
					what, code := fmt.Sprint(name, regs), string(op.encode(regs))
					if other, ok := seen[code]; ok {
						t.Fatalf("%s and %s are both % x", what, other, code)
					}
					seen[code] = what
				}
			}
		}
	}
}

func rewrite(t *testing.T, text string) (string, error) {
	path := filepath.Join(t.TempDir(), "x.s")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	err := encodeBF16(path)
	out, readErr := os.ReadFile(path)
	if readErr != nil {
		t.Fatal(readErr)
	}
	return string(out), err
}

// A file's stand-ins become bytes, whatever the columns, and nothing else
// changes; operands that the encoder does not know are refused.
func TestEncodeBF16(t *testing.T) {
	const rest = "\tVMOVUPS (AX), Z1\n"
	got, err := rewrite(t, rest+"\tVPMADD52LUQ Z9, Z18, Z27\n\tVCVTUQQ2PS  Z24, Y9\n\tVPACKUSDW   Z8, Z7, Z7\n"+rest)
	want := rest +
		"\tBYTE $0x62; BYTE $0x42; BYTE $0x6e; BYTE $0x40; BYTE $0x52; BYTE $0xd9; // VDPBF16PS Z9, Z18, Z27\n" +
		"\tBYTE $0x62; BYTE $0x12; BYTE $0x7e; BYTE $0x48; BYTE $0x72; BYTE $0xc8; // VCVTNEPS2BF16 Z24, Y9\n" +
		"\tBYTE $0x62; BYTE $0xd2; BYTE $0x47; BYTE $0x48; BYTE $0x72; BYTE $0xf8; // VCVTNE2PS2BF16 Z8, Z7, Z7\n" + rest
	if err != nil || got != want {
		t.Errorf("%v:\n%s\nwant\n%s", err, got, want)
	}
	for _, bad := range []string{"VPMADD52LUQ (AX), Z1, Z2", "VPACKUSDW X1, X2, X3", "VPACKUSDW Z1, Z2, K1, Z3", "VPMADD52LUQ 64(AX)(CX*1), Z1, Z2"} {
		before := "\t" + bad + "\n"
		if got, err := rewrite(t, before); err == nil || got != before {
			t.Errorf("%q was accepted: %q", bad, got)
		}
	}
}

// needs maps what an instruction's name begins with to what must stand in the
// name of a kernel that has it, by which dispatch and tests tell what a CPU runs.
var needs = map[string][]string{
	"VDPBF16PS": {"BF16", "Half"}, "VCVTNE": {"BF16", "Half"},
	"LDTILECFG": {"AMX"}, "TILE": {"AMX"}, "TDPBF16PS": {"AMX"},
}

// The committed assembly has no stand-in left; its bytes are what the comment
// beside them says; and bf16 and tile instructions stand only in kernels that say
// so in their names.
func TestCommittedAssembly(t *testing.T) {
	text, err := os.ReadFile("../kernels_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	ops := bf16Ops(t)
	instruction := regexp.MustCompile(`^\t((?:BYTE +\$0x[0-9a-f]{2}; )+)// (\S+) ?(.*)$`) // avo writes operands in columns
	function, count := "", map[string]int{}
	for i, line := range strings.Split(string(text), "\n") {
		if name, ok := strings.CutPrefix(line, "TEXT \u00b7"); ok {
			function, _, _ = strings.Cut(name, "(")
		}
		for standIn := range standIns {
			if strings.Contains(line, standIn) {
				t.Errorf("line %d: %s in %s", i+1, standIn, function)
			}
		}
		m := instruction.FindStringSubmatch(line)
		if m == nil {
			if strings.Contains(line, "BYTE") {
				t.Errorf("line %d: bytes that name no instruction: %s", i+1, line)
			}
			continue
		}
		count[m[2]]++
		if op, ok := ops[m[2]]; ok {
			var want strings.Builder
			for _, b := range op.encode(numbers(t, m[3])) {
				fmt.Fprintf(&want, "BYTE $0x%02x; ", b)
			}
			if got := strings.Join(strings.Fields(m[1]), " ") + " "; got != want.String() {
				t.Errorf("line %d: %s, want %s", i+1, line, want.String())
			}
		}
		checkName(t, function, m[2])
	}
	for _, name := range []string{"VDPBF16PS", "VCVTNEPS2BF16", "VCVTNE2PS2BF16", "TDPBF16PS"} {
		if count[name] == 0 {
			t.Errorf("no kernel has %s: the test reads the file wrongly", name)
		}
	}
}

// checkName fails where a function has an instruction that its name hides.
func checkName(t *testing.T, function, instruction string) {
	t.Helper()
	for prefix, names := range needs {
		if !strings.HasPrefix(instruction, prefix) {
			continue
		}
		for _, n := range names {
			if strings.Contains(function, n) {
				return
			}
		}
	}
	t.Errorf("%s has %s", function, instruction)
}

// Kernels of the AVX2 tier keep to its registers: none of 512 bits, no masks, no
// numbers above 15.
func TestAVX2Registers(t *testing.T) {
	text, err := os.ReadFile("../kernels_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	beyond := regexp.MustCompile(`[ ,](Z[0-9]|K[0-7]|[XY](1[6-9]|2[0-9]|3[01]))\b`)
	function, lines := "", 0
	for i, line := range strings.Split(string(text), "\n") {
		if name, ok := strings.CutPrefix(line, "TEXT \u00b7"); ok {
			function, _, _ = strings.Cut(name, "(")
		}
		if !strings.HasSuffix(function, "AVX2") {
			continue
		}
		lines++
		if m := beyond.FindString(line); m != "" {
			t.Errorf("line %d: %s in %s", i+1, m, function)
		}
	}
	if lines == 0 {
		t.Error("no kernel of the AVX2 tier: the test reads the file wrongly")
	}
}

// numbers returns the register numbers of operands such as Z9, Z18, Z27.
func numbers(t *testing.T, operands string) (n []int) {
	t.Helper()
	for _, f := range strings.Split(operands, ", ") {
		v, err := strconv.Atoi(f[1:])
		if err != nil {
			t.Fatalf("operands %q: %v", operands, err)
		}
		n = append(n, v)
	}
	return n
}
