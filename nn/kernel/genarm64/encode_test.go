package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// The words are those that the GNU assembler writes for the same text.
func TestEncodings(t *testing.T) {
	pack := func(w uint32, text string) string { return fmt.Sprintf("%08x %s", w, text) }
	for _, c := range []struct{ got, want string }{
		{pack(same("fadd", 0, 1, 2)), "4e22d420 fadd v0.4s, v1.4s, v2.4s"},
		{pack(same("fadd", 31, 30, 29)), "4e3dd7df fadd v31.4s, v30.4s, v29.4s"},
		{pack(same("fsub", 3, 17, 8)), "4ea8d623 fsub v3.4s, v17.4s, v8.4s"},
		{pack(same("faddp", 1, 2, 4)), "6e24d441 faddp v1.4s, v2.4s, v4.4s"},
		{pack(same("fmul", 16, 0, 31)), "6e3fdc10 fmul v16.4s, v0.4s, v31.4s"},
		{pack(same("fdiv", 5, 6, 7)), "6e27fcc5 fdiv v5.4s, v6.4s, v7.4s"},
		{pack(same("fmax", 1, 2, 4)), "4e24f441 fmax v1.4s, v2.4s, v4.4s"},
		{pack(same("fmla", 9, 18, 27)), "4e3bce49 fmla v9.4s, v18.4s, v27.4s"},
		{pack(same("fmls", 21, 10, 5)), "4ea5cd55 fmls v21.4s, v10.4s, v5.4s"},
		{pack(two("fsqrt", 0, 1)), "6ea1f820 fsqrt v0.4s, v1.4s"},
		{pack(two("fsqrt", 31, 16)), "6ea1fa1f fsqrt v31.4s, v16.4s"},
		{pack(same("fmin", 1, 2, 4)), "4ea4f441 fmin v1.4s, v2.4s, v4.4s"},
		{pack(same("fmaxp", 16, 0, 31)), "6e3ff410 fmaxp v16.4s, v0.4s, v31.4s"},
		{pack(same("fcmgt", 1, 2, 4)), "6ea4e441 fcmgt v1.4s, v2.4s, v4.4s"},
		{pack(two("frintn", 31, 16)), "4e218a1f frintn v31.4s, v16.4s"},
		{pack(two("fcvtns", 2, 29)), "4e21aba2 fcvtns v2.4s, v29.4s"},
		{pack(two("sshr1", 3, 17)), "4f3f0623 sshr v3.4s, v17.4s, #1"},
		{pack(two("fcmgt0", 2, 29)), "4ea0cba2 fcmgt v2.4s, v29.4s, #0.0"},
		{pack(element("fmla", 0, 1, 2, 0)), "4f821020 fmla v0.4s, v1.4s, v2.s[0]"},
		{pack(element("fmla", 31, 30, 29, 3)), "4fbd1bdf fmla v31.4s, v30.4s, v29.s[3]"},
		{pack(element("fmla", 7, 24, 15, 1)), "4faf1307 fmla v7.4s, v24.4s, v15.s[1]"},
		{pack(element("fmla", 12, 3, 16, 2)), "4f90186c fmla v12.4s, v3.4s, v16.s[2]"},
		{pack(element("fmls", 31, 30, 29, 3)), "4fbd5bdf fmls v31.4s, v30.4s, v29.s[3]"},
		{pack(element("fmul", 7, 24, 15, 1)), "4faf9307 fmul v7.4s, v24.4s, v15.s[1]"},
		{pack(element("fmul", 12, 3, 16, 2)), "4f90986c fmul v12.4s, v3.4s, v16.s[2]"},
		{pack(halves("bfmmla", 0, 1, 2)), "6e42ec20 bfmmla v0.4s, v1.8h, v2.8h"},
		{pack(halves("bfmmla", 31, 30, 29)), "6e5defdf bfmmla v31.4s, v30.8h, v29.8h"},
		{pack(halves("bfdot", 3, 17, 8)), "6e48fe23 bfdot v3.4s, v17.8h, v8.8h"},
		{pack(halves("bfdot", 31, 30, 29)), "6e5dffdf bfdot v31.4s, v30.8h, v29.8h"},
		{pack(converted("bfcvtn", 0, 1)), "0ea16820 bfcvtn v0.4h, v1.4s"},
		{pack(converted("bfcvtn", 31, 16)), "0ea16a1f bfcvtn v31.4h, v16.4s"},
		{pack(converted("bfcvtn2", 2, 29)), "4ea16ba2 bfcvtn2 v2.8h, v29.4s"},
		{pack(converted("bfcvtn2", 31, 16)), "4ea16a1f bfcvtn2 v31.8h, v16.4s"},
		{pack(converted("shll", 5, 6)), "2e6138c5 shll v5.4s, v6.4h, #16"},
		{pack(converted("shll", 31, 30)), "2e613bdf shll v31.4s, v30.4h, #16"},
		{pack(converted("shll2", 7, 24)), "6e613b07 shll2 v7.4s, v24.8h, #16"},
		{pack(converted("shll2", 31, 30)), "6e613bdf shll2 v31.4s, v30.8h, #16"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
	if len(threeSame) != 11 || len(twoReg) != 5 || len(byElement) != 3 || len(halfProducts) != 2 || len(conversions) != 4 {
		t.Error("an instruction has no literal above")
	}
}

// Mistakes of a generator panic and do not become wrong words.
func TestEncoderRefuses(t *testing.T) {
	for name, f := range map[string]func(){
		"register": func() { same("fadd", 32, 0, 0) },
		"lane":     func() { element("fmla", 0, 0, 0, 4) },
		"name":     func() { same("fsqrt", 0, 0, 0) },
		"two name": func() { two("fadd", 0, 0) },
		"halves":   func() { halves("bfdot", 0, 0, 32) },
		"converts": func() { converted("bfdot", 0, 0) },
		"vectors":  func() { (&fn{output: &output{}}).vecs(33) },
		"general":  func() { (&fn{output: &output{}}).gps(27) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// Every function of an argument struct sets FZ and restores FPCR once before its
// only return, and none touches a register that is not the kernel's.
func TestFrames(t *testing.T) {
	o := generate()
	texts := bytes.Split(o.asm.Bytes(), []byte("\nTEXT "))[1:]
	if len(texts) != len(o.entries)+2 {
		t.Fatalf("%d functions for %d entries and two of FPCR", len(texts), len(o.entries))
	}
	for i, e := range o.entries {
		body := string(texts[i])
		if !strings.HasPrefix(body, "·"+e.Name+"(SB)") {
			t.Fatalf("function %d is not %s", i, e.Name)
		}
		if !strings.Contains(body, "\tMOVD FPCR, R1\n\tORR $(1<<24), R1, R2 // FZ\n\tMOVD R2, FPCR\n") ||
			strings.Count(body, "RET\n") != 1 || !strings.Contains(body, "\tMOVD R1, FPCR\n\tRET\n") {
			t.Errorf("%s does not set and restore FPCR", e.Name)
		}
		for _, r := range []string{"R18", "R27", "R28", "R29", "R30", "RSP"} {
			if strings.Contains(body, r) {
				t.Errorf("%s uses %s", e.Name, r)
			}
		}
	}
}
