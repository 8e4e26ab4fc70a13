//go:build linux || darwin

package emulated

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// What is run of PTX: that of nvcc 11.8 for this project's kernels. Registers are C++
// variables, branches are goto, shared memory begins at address 0. Each line becomes one
// line, and errors name the lines of the PTX.

// prelude is what translations stand on, beside device.cuh's primitives. Functions are
// those of the PTX ISA, version 7.8; approximations are as exact as a GPU's or more.
const prelude = `#include "device.cuh"
namespace {
template <class To, class From> inline To as(From x) { To y{}; __builtin_memcpy(&y, &x, sizeof y < sizeof x ? sizeof y : sizeof x); return y; }
struct alignas(4) ushort2 { uint16_t x, y; };
struct alignas(8) ushort4 { uint16_t x, y, z, w; };
inline float down(double d) { float f = (float)d; return (double)f > d ? nextafterf(f, -INFINITY) : f; }
inline float flushed(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0.f, x) : x; }
inline uint32_t permuted(uint32_t a, uint32_t b, uint32_t how) {
	uint64_t v = (uint64_t)b << 32 | a; uint32_t r = 0;
	for (int i = 0; i < 4; i++) { uint32_t k = how >> 4 * i, x = v >> 8 * (k & 7) & 255; r |= (k & 8 ? x >> 7 ? 255 : 0 : x) << 8 * i; }
	return r;
}
inline uint32_t ones(uint32_t n) { return n >= 32 ? ~0u : (1u << n) - 1; }
template <class T> inline T left(T a, uint32_t n) { return n >= 8 * sizeof a ? 0 : a << n; }
template <class T> inline T right(T a, uint32_t n) { return n >= 8 * sizeof a ? a < 0 ? (T)-1 : 0 : a >> n; }
}
`

// ctypes are the types of PTX in C++.
var ctypes = map[string]string{
	"f32": "float", "f64": "double", "s32": "int32_t", "u32": "uint32_t", "b32": "uint32_t", "s64": "int64_t", "u64": "uint64_t", "b64": "uint64_t",
	"s16": "int16_t", "u16": "uint16_t", "b16": "uint16_t", "s8": "int8_t", "u8": "uint8_t", "b8": "uint8_t", "pred": "bool",
}

// unsigned is the type of sums that wrap.
var unsigned = strings.NewReplacer("s32", "u32", "s64", "u64", "s16", "u16")

// translation is of one kernel.
type translation struct {
	registers map[string]string // their types, by the name without a number
}

var (
	entryLine    = regexp.MustCompile(`^\.visible \.entry (\w+)\($`)
	paramLine    = regexp.MustCompile(`^\.param \.align (\d+) \.b8 \w+\[(\d+)\]$`)
	threadsLine  = regexp.MustCompile(`^\.maxntid (\d+), 1, 1$`)
	registerLine = regexp.MustCompile(`^\.reg \.(\w+)\s+(%\w+)(?:<(\d+)>)?;$`)
	localLine    = regexp.MustCompile(`^\.local \.align (\d+) \.b8\s+(\w+)\[(\d+)\];$`)
	labelLine    = regexp.MustCompile(`^\$(\w+):$`)
	codeLine     = regexp.MustCompile(`^(?:@(!?)(%p\d+)\s+)?([\w.]+)\s*(.*);$`)
	addressForm  = regexp.MustCompile(`^\[([%\w]+)(?:\+(-?\d+))?\]$`)
	ignoredLine  = regexp.MustCompile(`^(?:\)|\.(?:version|target|address_size|extern|minnctapersm|pragma)\b.*|//.*|)$`)
)

// translate makes C++ of a module's PTX, whose lines are those of NAME.ptx.
func translate(name, ptx string) (text string, err error) {
	var out strings.Builder
	fmt.Fprintf(&out, "%s#line 1 \"%s.ptx\"\n", prelude, name)
	number := 0
	defer func() {
		if r := recover(); r != nil { // of what no kernel has had so far
			err = fmt.Errorf("PTX line %d: %v", number, r)
		}
	}()
	var t *translation
	var kernel string
	for line := range strings.Lines(ptx) {
		number++
		line = strings.TrimSpace(line)
		if m := entryLine.FindStringSubmatch(line); m != nil {
			kernel, t = m[1], &translation{registers: map[string]string{}}
		} else if m := paramLine.FindStringSubmatch(line); m != nil {
			fmt.Fprintf(&out, "struct alignas(%s) %s_params { char b[%s]; };", m[1], kernel, m[2])
		} else if m := threadsLine.FindStringSubmatch(line); m != nil {
			fmt.Fprintf(&out, "KERNEL(%s, %s_params, %s, 1)", kernel, kernel, m[1])
		} else if !ignoredLine.MatchString(line) {
			for _, statement := range statements(line) {
				out.WriteString(t.line(statement))
			}
		}
		out.WriteByte('\n')
	}
	return out.String(), nil
}

// statements takes off the braces before and behind a line, as inline assembly has them.
func statements(line string) (list []string) {
	line, opens := strings.CutPrefix(line, "{")
	line, closes := strings.CutSuffix(line, "}")
	if opens {
		list = append(list, "{")
	}
	if line = strings.TrimSpace(line); line != "" {
		list = append(list, line)
	}
	if closes {
		list = append(list, "}")
	}
	return list
}

// line translates a statement, a declaration, a label or a brace.
func (t *translation) line(line string) string {
	if line == "{" || line == "}" {
		return line
	}
	if m := registerLine.FindStringSubmatch(line); m != nil {
		t.registers[m[2]] = ctypes[m[1]]
		if m[3] == "" {
			return fmt.Sprintf("%s %s;", ctypes[m[1]], variable(m[2]))
		}
		count, _ := strconv.Atoi(m[3])
		var names []string
		for i := 1; i < count; i++ {
			names = append(names, variable(m[2])+strconv.Itoa(i))
		}
		if names == nil {
			return ""
		}
		return fmt.Sprintf("%s %s;", ctypes[m[1]], strings.Join(names, ", "))
	}
	if m := localLine.FindStringSubmatch(line); m != nil {
		return fmt.Sprintf("alignas(%s) char %s[%s];", m[1], m[2], m[3])
	}
	if m := labelLine.FindStringSubmatch(line); m != nil {
		return m[1] + ":;"
	}
	m := codeLine.FindStringSubmatch(line)
	if m == nil {
		panic(fmt.Sprintf("cannot read %q", line))
	}
	code := t.instruction(m[3], operands(m[4]))
	if m[2] != "" {
		return fmt.Sprintf("if (%s%s) { %s }", m[1], variable(m[2]), code)
	}
	return code
}

// operands splits at commas outside of brackets.
func operands(s string) (list []string) {
	depth, first := 0, 0
	for i, c := range s + "," {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				if o := strings.TrimSpace(s[first:i]); o != "" {
					list = append(list, o)
				}
				first = i + 1
			}
		}
	}
	return list
}

// vector splits {a, b}; another operand is a vector of itself.
func vector(o string) []string {
	if !strings.HasPrefix(o, "{") {
		return []string{o}
	}
	return operands(o[1 : len(o)-1])
}

func variable(register string) string { return strings.Replace(register, "%", "r_", 1) }

// typeOf returns that of a register.
func (t *translation) typeOf(register string) string {
	if c := t.registers[register]; c != "" {
		return c
	}
	c := t.registers[strings.TrimRight(register, "0123456789")]
	if c == "" {
		panic(register + " is not declared")
	}
	return c
}

func isFloat(ctype string) bool { return ctype == "float" || ctype == "double" }

// value reads an operand as a type.
func (t *translation) value(o, typ string) string {
	c := ctypes[typ]
	switch {
	case c == "":
		panic("no type " + typ)
	case strings.HasPrefix(o, "%") && strings.Contains(o, "."):
		place := strings.NewReplacer("%tid", "threadIdx", "%ntid", "blockDim", "%ctaid", "blockIdx", "%nctaid", "gridDim").Replace(o)
		return fmt.Sprintf("(%s)%s", c, place)
	case strings.HasPrefix(o, "%"):
		from := t.typeOf(o)
		switch {
		case from == c:
			return variable(o)
		case isFloat(from) || isFloat(c):
			return fmt.Sprintf("as<%s>(%s)", c, variable(o))
		}
		return fmt.Sprintf("(%s)%s", c, variable(o))
	case strings.HasPrefix(o, "0f"):
		return fmt.Sprintf("as<float>(0x%su)", o[2:])
	case strings.HasPrefix(o, "0d"):
		return fmt.Sprintf("as<double>(0x%sull)", o[2:])
	case o == "dynamic_shared_memory":
		return fmt.Sprintf("(%s)0", c)
	case strings.HasSuffix(o, "_param_0"):
		return "(uint64_t)(uintptr_t)&a"
	case strings.HasPrefix(o, "__local_depot"):
		return "(uint64_t)(uintptr_t)" + o
	}
	if _, err := strconv.ParseInt(o, 0, 64); err != nil {
		panic("operand " + o)
	}
	return fmt.Sprintf("(%s)%sll", c, o)
}

// set assigns an expression of a type.
func (t *translation) set(register, expression, typ string) string {
	to, c := t.typeOf(register), ctypes[typ]
	switch {
	case to == c:
		return fmt.Sprintf("%s = %s;", variable(register), expression)
	case isFloat(to) || isFloat(c):
		return fmt.Sprintf("%s = as<%s>((%s)(%s));", variable(register), to, c, expression)
	}
	return fmt.Sprintf("%s = (%s)(%s)(%s);", variable(register), to, c, expression)
}

// address is that of an operand in brackets, of shared memory or any other.
func (t *translation) address(o string, shared bool) string {
	m := addressForm.FindStringSubmatch(o)
	if m == nil {
		panic("address " + o)
	}
	base, offset := m[1], m[2]
	if offset == "" {
		offset = "0"
	}
	switch {
	case base == "dynamic_shared_memory":
		return fmt.Sprintf("(emulated_shared + (%s))", offset)
	case strings.HasSuffix(base, "_param_0"):
		return fmt.Sprintf("((char*)&a + (%s))", offset)
	case shared:
		return fmt.Sprintf("(emulated_shared + (int32_t)((uint32_t)%s + (%s)))", variable(base), offset)
	}
	return fmt.Sprintf("((char*)(%s + (%sll)))", variable(base), offset)
}

// instructions are those that are known beside expressions and whole names, with the words
// that may stand between name and types.
var instructions = map[string]string{
	"ret": "", "bra": "", "ld": "global shared local param volatile v2 v4", "st": "global shared local volatile v2 v4", "mov": "", "cvta": "to global shared local",
	"setp": "lt le gt ge eq ne ltu leu gtu geu equ neu nan", "selp": "", "cvt": "rn", "mad": "lo", "shl": "", "shr": "",
	"add": "", "sub": "", "mul": "rn lo wide", "and": "", "or": "", "xor": "", "div": "rn", "rem": "", "max": "",
}

// check panics at an instruction that is not known.
func check(op string, parts []string) {
	last := len(parts) - 1 // the type
	if parts[0] == "cvt" {
		last--
	}
	words, known := instructions[parts[0]]
	for _, word := range parts[1:max(1, last)] {
		known = known && slices.Contains(strings.Fields(words), word)
	}
	if !known && op != "bra.uni" {
		panic("no instruction " + op)
	}
}

// Operators and comparisons; those that hold of NaN end in u.
var (
	operators   = map[string]string{"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "div": "/", "rem": "%"}
	comparisons = map[string]string{"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
	expressions = map[string]string{ // of operands 1.. of the instruction's type
		"fma.rn.f32": "fmaf(%s, %s, %s)", "fma.rm.f32": "down((double)%s * %s + %s)", "fma.rn.f64": "fma(%s, %s, %s)",
		"ex2.approx.ftz.f32": "flushed((float)exp2((double)flushed(%s)))", "rcp.approx.ftz.f32": "flushed(1.f / flushed(%s))",
		"rcp.approx.f32": "1.f / %s", "rcp.rn.f32": "1.f / %s", "rcp.rn.f64": "1. / %s", "sqrt.rn.f32": "sqrtf(%s)", "sqrt.rn.f64": "sqrt(%s)",
		"abs.f32": "fabsf(%s)", "neg.f32": "-%s", "neg.f64": "-%s", "neg.s32": "-%s", "not.pred": "!%s", "not.b16": "~%s", "not.b32": "~%s", "not.b64": "~%s",
		"min.f32": "fminf(%s, %s)", "max.f32": "fmaxf(%s, %s)", "min.s32": "min(%s, %s)", "max.s32": "max(%s, %s)", "prmt.b32": "permuted(%s, %s, %s)",
		"cvt.sat.f32.f32": "fminf(fmaxf(%s, 0.f), 1.f)",
	}
)

// instruction translates one.
func (t *translation) instruction(op string, o []string) string {
	parts := strings.Split(op, ".")
	typ := parts[len(parts)-1]
	values := func(typ string, from int) (list []any) {
		for _, x := range o[from:] {
			list = append(list, t.value(x, typ))
		}
		return list
	}
	if e, ok := expressions[op]; ok {
		return t.set(o[0], fmt.Sprintf(e, values(typ, 1)...), typ)
	}
	switch parts[0] {
	case "bar":
		if code := map[string]string{"bar.sync 0": "sync_threads();", "bar.warp.sync -1": "sync_warp();"}[op+" "+o[0]]; code != "" {
			return code
		}
	case "shfl":
		return t.shuffle(op, o)
	case "cp":
		return t.copyAsync(op, o)
	case "ldmatrix", "mma":
		return t.matrix(op, o)
	}
	switch op {
	case "bfi.b32":
		return fmt.Sprintf("{ uint32_t mask = left<uint32_t>(ones(%s), %s); %s }", t.value(o[4], "u32"), t.value(o[3], "u32"),
			t.set(o[0], fmt.Sprintf("(%s & ~mask) | (left<uint32_t>(%s, %s) & mask)", t.value(o[2], "u32"), t.value(o[1], "u32"), t.value(o[3], "u32")), "u32"))
	case "bfe.u32":
		return t.set(o[0], fmt.Sprintf("%s >> %s & ones(%s)", values("u32", 1)...), "u32")
	case "dp2a.lo.u32.u32":
		return t.set(o[0], fmt.Sprintf("%[3]s + (%[1]s & 0xffff) * (%[2]s & 0xff) + (%[1]s >> 16) * (%[2]s >> 8 & 0xff)", values("u32", 1)...), "u32")
	case "cvt.rzi.s32.f32":
		return t.set(o[0], fmt.Sprintf("(int32_t)%s", values(typ, 1)...), "s32")
	case "mul.hi.s32":
		return t.set(o[0], fmt.Sprintf("(int32_t)((int64_t)%s * %s >> 32)", values(typ, 1)...), typ)
	}
	check(op, parts)
	switch parts[0] {
	case "ret":
		return "return;"
	case "bra":
		return "goto " + strings.TrimPrefix(o[0], "$") + ";"
	case "ld", "st":
		return t.access(parts, o)
	case "mov":
		return t.move(typ, o)
	case "cvta": // generic addresses of shared memory are the host's
		change := map[string]string{"cvta.shared.u64": " + (uint64_t)emulated_shared", "cvta.to.shared.u64": " - (uint64_t)emulated_shared"}[op]
		return t.set(o[0], t.value(o[1], typ)+change, typ)
	case "setp":
		return t.compare(parts[1], typ, o)
	case "selp":
		return t.set(o[0], fmt.Sprintf("%s ? %s : %s", variable(o[3]), t.value(o[1], typ), t.value(o[2], typ)), typ)
	case "cvt":
		return t.convert(parts, o)
	case "mad":
		typ = unsigned.Replace(typ)
		return t.set(o[0], fmt.Sprintf("%s * %s + %s", values(typ, 1)...), typ)
	case "shl", "shr":
		function := map[string]string{"shl": "left", "shr": "right"}[parts[0]]
		return t.set(o[0], fmt.Sprintf("%s<%s>(%s, %s)", function, ctypes[typ], t.value(o[1], typ), t.value(o[2], "u32")), typ)
	case "max": // of integers
		return fmt.Sprintf("{ %s x = %s, y = %s; %s }", ctypes[typ], t.value(o[1], typ), t.value(o[2], typ), t.set(o[0], "x > y ? x : y", typ))
	}
	if parts[0] == "mul" && parts[1] == "wide" {
		wide := map[string]string{"s32": "s64", "u32": "u64"}[typ]
		return t.set(o[0], fmt.Sprintf("(%[1]s)%[2]s * (%[1]s)%[3]s", ctypes[wide], t.value(o[1], typ), t.value(o[2], typ)), wide)
	}
	if parts[0] != "div" && parts[0] != "rem" {
		typ = unsigned.Replace(typ)
	}
	v := values(typ, 1)
	return t.set(o[0], fmt.Sprintf("%s %s %s", v[0], operators[parts[0]], v[1]), typ)
}

func (t *translation) shuffle(op string, o []string) string {
	function := map[string]string{"shfl.sync.bfly.b32": "shuffle_xor", "shfl.sync.idx.b32": "shuffle"}[op]
	if function == "" {
		panic("no instruction " + op)
	}
	d, _, _ := strings.Cut(o[0], "|")
	return fmt.Sprintf("if (%s != 31 || %s != ~0u) __builtin_trap(); ", t.value(o[3], "b32"), t.value(o[4], "b32")) + t.set(d, fmt.Sprintf("%s(%s, (int)%s)", function, t.value(o[1], "b32"), t.value(o[2], "b32")), "b32")
}

func (t *translation) copyAsync(op string, o []string) string {
	switch {
	case op == "cp.async.cg.shared.global" && o[2] == "16":
		return fmt.Sprintf("copy_async16(%s, %s, %s != 0);", t.address(o[0], true), t.address(o[1], false), t.value(o[3], "u32"))
	case op == "cp.async.commit_group":
		return "commit_async();"
	case op == "cp.async.wait_group":
		return "wait_async<" + o[0] + ">();"
	}
	panic("no instruction " + op)
}

func (t *translation) matrix(op string, o []string) string {
	d := vector(o[0])
	var code strings.Builder
	if function := map[string]string{
		"ldmatrix.sync.aligned.m8n8.x4.shared.b16": "load_matrix_x4", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16": "load_matrix_x4_trans",
	}[op]; function != "" {
		fmt.Fprintf(&code, "{ uint32_t q[4]; %s(q, %s); ", function, t.address(o[1], true))
		for i, x := range d {
			code.WriteString(t.set(x, fmt.Sprintf("q[%d]", i), "b32"))
		}
		return code.String() + " }"
	}
	typ := map[string]string{"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32": "bf16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32": "fp16"}[op]
	if typ == "" {
		panic("no instruction " + op)
	}
	list := func(o, typ string) string {
		var v []string
		for _, x := range vector(o) {
			v = append(v, t.value(x, typ))
		}
		return strings.Join(v, ", ")
	}
	fmt.Fprintf(&code, "{ float d[4] = {%s}; uint32_t x[4] = {%s}, y[2] = {%s}; mma<%s>(d, x, y); ", list(o[3], "f32"), list(o[1], "b32"), list(o[2], "b32"), typ)
	for i, x := range d {
		code.WriteString(t.set(x, fmt.Sprintf("d[%d]", i), "f32"))
	}
	return code.String() + " }"
}

// access is a load or a store of up to 16 bytes.
func (t *translation) access(parts, o []string) string {
	typ, place, value := parts[len(parts)-1], o[0], o[1]
	load := parts[0] == "ld"
	if load {
		place, value = o[1], o[0]
	}
	address, registers := t.address(place, slices.Contains(parts, "shared")), vector(value)
	c := ctypes[typ]
	if len(registers) > 1 {
		c = map[string]string{"float": "float", "uint32_t": "uint", "uint16_t": "ushort", "double": "double"}[c] + strconv.Itoa(len(registers))
	}
	if !load {
		var v []string
		for _, r := range registers {
			v = append(v, t.value(r, typ))
		}
		return fmt.Sprintf("*(%s*)%s = %s{%s};", c, address, c, strings.Join(v, ", "))
	}
	code := fmt.Sprintf("{ %s q = *(const %s*)%s; ", c, c, address)
	for i, r := range registers {
		from := "q"
		if len(registers) > 1 {
			from += "." + string("xyzw"[i])
		}
		code += t.set(r, from, typ)
	}
	return code + " }"
}

// move also packs and unpacks.
func (t *translation) move(typ string, o []string) string {
	if d := vector(o[0]); len(d) > 1 {
		half := map[string]string{"b32": "b16", "b64": "b32"}[typ]
		shift := map[string]int{"b32": 16, "b64": 32}[typ]
		return fmt.Sprintf("{ %s q = %s; %s %s }", ctypes[typ], t.value(o[1], typ), t.set(d[0], "q", half), t.set(d[1], fmt.Sprintf("q >> %d", shift), half))
	}
	if v := vector(o[1]); len(v) > 1 {
		shift := map[string]int{"b32": 16, "b64": 32}[typ]
		half := map[string]string{"b32": "b16", "b64": "b32"}[typ]
		return t.set(o[0], fmt.Sprintf("(%[1]s)%[2]s | (%[1]s)%[3]s << %[4]d", ctypes[typ], t.value(v[0], half), t.value(v[1], half), shift), typ)
	}
	return t.set(o[0], t.value(o[1], typ), typ)
}

func (t *translation) compare(how, typ string, o []string) string {
	var e string
	if c := comparisons[how]; c != "" {
		if e = "x " + c + " y"; how == "ne" {
			e += " && x == x && y == y"
		}
	} else if c := comparisons[strings.TrimSuffix(how, "u")]; c != "" {
		e = "x != x || y != y || x " + c + " y"
	} else { // nan
		e = "x != x || y != y"
	}
	return fmt.Sprintf("{ %s x = %s, y = %s; %s = %s; }", ctypes[typ], t.value(o[1], typ), t.value(o[2], typ), variable(o[0]), e)
}

func (t *translation) convert(parts, o []string) string {
	to, from := parts[len(parts)-2], parts[len(parts)-1]
	switch {
	case to == "bf16" && from == "f32":
		return t.set(o[0], fmt.Sprintf("from_float<bf16>(%s).bits", t.value(o[1], from)), "b16")
	case to == "f16" && from == "f32":
		return t.set(o[0], fmt.Sprintf("from_float<fp16>(%s).bits", t.value(o[1], from)), "b16")
	case to == "f32" && from == "f16":
		return t.set(o[0], fmt.Sprintf("to_float(fp16{%s})", t.value(o[1], "b16")), to)
	}
	return t.set(o[0], fmt.Sprintf("(%s)%s", ctypes[to], t.value(o[1], from)), to)
}

// translations are the files of the PTX that this process has translated, by its hash.
var translations sync.Map

// translated writes a module's PTX as a C++ file and returns its path.
func translated(name string, ptx []byte) (string, error) {
	name = filepath.Base(name)
	module := sha256.Sum256(ptx)
	if path, ok := translations.Load(module); ok {
		return path.(string), nil
	}
	text, err := translate(name, string(ptx))
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	dir, err := buildFolder()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(text))
	path := filepath.Join(dir, fmt.Sprintf("%s-%x.cc", name, sum[:10]))
	half := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(half, []byte(text), 0o600); err != nil {
		return "", err
	}
	if err := os.Rename(half, path); err != nil {
		return "", err
	}
	translations.Store(module, path)
	return path, nil
}
