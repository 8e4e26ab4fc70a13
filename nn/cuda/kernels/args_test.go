package kernels

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// cField is a field of a C struct: where it lies, and its Go counterpart's type.
type cField struct {
	name   string
	offset uintptr
	goType string
}

// cStruct is a struct of a *args.cuh file.
type cStruct struct {
	fields []cField
	size   uintptr
	align  uintptr
}

// cTypes are the scalars that argument structs may hold.
var cTypes = map[string]struct {
	goType string
	size   uintptr
}{
	"int": {"int32", 4}, "float": {"float32", 4}, "double": {"float64", 8},
	"uint32_t": {"uint32", 4}, "int32_t": {"int32", 4}, "uint64_t": {"uint64", 8}, "int64_t": {"int64", 8},
	"uint16_t": {"uint16", 2}, "int16_t": {"int16", 2}, "uint8_t": {"uint8", 1},
}

var (
	commentPattern = regexp.MustCompile(`//[^\n]*`)
	structPattern  = regexp.MustCompile(`(?s)struct (\w+) \{(.*?)\};`)
	fieldPattern   = regexp.MustCompile(`^(?:const\s+)?(?:struct\s+)?(\w+)\s*(.*)$`)
	namePattern    = regexp.MustCompile(`^(\**)\s*(\w+)(?:\[(\d+)\])?$`)
)

// parseStructs lays the structs of C source out by the rules of C on 64 bits: a
// field begins at a multiple of its alignment, a struct's size is one of its.
func parseStructs(text string, known map[string]cStruct) error {
	for _, m := range structPattern.FindAllStringSubmatch(commentPattern.ReplaceAllString(text, ""), -1) {
		s := cStruct{align: 1}
		for statement := range strings.SplitSeq(m[2], ";") {
			if statement = strings.TrimSpace(statement); statement == "" {
				continue
			}
			if err := s.add(statement, known); err != nil {
				return fmt.Errorf("struct %s: %w", m[1], err)
			}
		}
		s.size = (s.size + s.align - 1) / s.align * s.align
		known[m[1]] = s
	}
	return nil
}

// add lays out the fields of one declaration.
func (s *cStruct) add(statement string, known map[string]cStruct) error {
	m := fieldPattern.FindStringSubmatch(statement)
	if m == nil {
		return fmt.Errorf("cannot read %q", statement)
	}
	for declared := range strings.SplitSeq(m[2], ",") {
		n := namePattern.FindStringSubmatch(strings.TrimSpace(declared))
		if n == nil {
			return fmt.Errorf("cannot read %q", statement)
		}
		var goType string
		var size, align uintptr
		if scalar, ok := cTypes[m[1]]; n[1] != "" {
			goType, size, align = "driver.Ptr", 8, 8
		} else if ok {
			goType, size, align = scalar.goType, scalar.size, scalar.size
		} else if inner, ok := known[m[1]]; ok {
			goType, size, align = "kernels."+m[1], inner.size, inner.align
		} else {
			return fmt.Errorf("type %s of %q is not known", m[1], statement)
		}
		if n[3] != "" {
			count, err := strconv.Atoi(n[3])
			if err != nil {
				return err
			}
			goType, size = "["+n[3]+"]"+goType, size*uintptr(count)
		}
		at := (s.size + align - 1) / align * align
		s.fields = append(s.fields, cField{strings.ReplaceAll(n[2], "_", ""), at, goType})
		s.size, s.align = at+size, max(s.align, align)
	}
	return nil
}

// goStructs are the mirrors: the arguments of all kernels, what they hold, and
// structs that they only point to.
func goStructs() map[string]reflect.Type {
	all := map[string]reflect.Type{}
	var add func(t reflect.Type)
	add = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Array:
			add(t.Elem())
		case reflect.Struct:
			all[t.Name()] = t
			for f := range t.Fields() {
				add(f.Type)
			}
		}
	}
	for _, t := range signatures {
		add(t)
	}
	add(reflect.TypeFor[PackEntry]())
	add(reflect.TypeFor[OuterLayer]())
	add(reflect.TypeFor[StepState]())
	add(reflect.TypeFor[Ahead]())
	return all
}

// TestArgumentsMirrorC compares every struct of the C headers with its Go mirror:
// names, order, types, offsets, sizes.
func TestArgumentsMirrorC(t *testing.T) {
	headers, err := filepath.Glob("*args.cuh")
	if err != nil || len(headers) == 0 {
		t.Fatalf("no *args.cuh here: %v", err)
	}
	c := map[string]cStruct{}
	for _, h := range headers {
		text, err := os.ReadFile(h)
		if err != nil {
			t.Fatal(err)
		}
		if err := parseStructs(string(text), c); err != nil {
			t.Fatalf("%s: %v", h, err)
		}
	}
	mirrors := goStructs()
	for name, s := range c {
		m, ok := mirrors[name]
		if !ok {
			t.Errorf("struct %s has no Go mirror that package signatures names", name)
			continue
		}
		if err := differ(s, m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name := range mirrors {
		if _, ok := c[name]; !ok {
			t.Errorf("%s is in no *args.cuh", name)
		}
	}
}

// differ says where a C struct and its Go mirror differ, or nil.
func differ(c cStruct, m reflect.Type) error {
	if m.NumField() != len(c.fields) {
		return fmt.Errorf("%d fields in C, %d in Go", len(c.fields), m.NumField())
	}
	for i, f := range c.fields {
		g := m.Field(i)
		if !strings.EqualFold(f.name, g.Name) || f.offset != g.Offset || f.goType != g.Type.String() {
			return fmt.Errorf("field %d: %s (%s) at %d in C, %s (%s) at %d in Go", i, f.name, f.goType, f.offset, g.Name, g.Type, g.Offset)
		}
	}
	if c.size != m.Size() {
		return fmt.Errorf("%d bytes in C, %d in Go", c.size, m.Size())
	}
	return nil
}

// TestStructsAreLaidOut holds the parser against a layout known from C, and shows
// that a wrong order, type or size is seen.
func TestStructsAreLaidOut(t *testing.T) {
	c := map[string]cStruct{}
	err := parseStructs(`struct Inner { double d; int n; };
struct Outer {
	uint8_t b;        // at 0
	const float *p, *q;  // at 8, 16
	int x, y;
	Inner in[2];  // at 32
	float last;
};`, c)
	if err != nil {
		t.Fatal(err)
	}
	outer := c["Outer"]
	want := []uintptr{0, 8, 16, 24, 28, 32, 64}
	for i, f := range outer.fields {
		if f.offset != want[i] {
			t.Errorf("%s at %d, want %d", f.name, f.offset, want[i])
		}
	}
	if outer.size != 72 || c["Inner"].size != 16 {
		t.Errorf("sizes %d and %d, want 72 and 16", outer.size, c["Inner"].size)
	}
	pair := map[string]cStruct{}
	if err := parseStructs(`struct Pair { void* a; int n; };`, pair); err != nil {
		t.Fatal(err)
	}
	for what, m := range map[string]reflect.Type{
		"order": reflect.TypeFor[struct {
			N int32
			A driver.Ptr
		}](),
		"type": reflect.TypeFor[struct {
			A driver.Ptr
			N float32
		}](),
		"count": reflect.TypeFor[struct{ A driver.Ptr }](),
	} {
		if differ(pair["Pair"], m) == nil {
			t.Errorf("a struct of another %s is not refused", what)
		}
	}
	if err := differ(pair["Pair"], reflect.TypeFor[struct {
		A driver.Ptr
		N int32
	}]()); err != nil {
		t.Errorf("an equal struct is refused: %v", err)
	}
}
