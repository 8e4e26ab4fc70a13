package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/chessbrain/chessbrain/internal/typo"
)

// descriptorOf returns the field at a path of single fields.
func descriptorOf(path string) (protoreflect.FieldDescriptor, error) {
	md := (*Config)(nil).ProtoReflect().Descriptor()
	var fd protoreflect.FieldDescriptor
	for name := range strings.SplitSeq(path, ".") {
		if fd = fieldNamed(md, name); fd == nil {
			names := fieldPaths((*Config)(nil).ProtoReflect().Descriptor(), "", map[protoreflect.FullName]bool{})
			return nil, fmt.Errorf("no field %s in the schema%s", path, typo.Meant(path, names...))
		}
		md = fd.Message()
	}
	return fd, nil
}

// parentOf returns the message that holds the last field of a path, creating
// what is missing.
func parentOf(c *Config, path string) (protoreflect.Message, protoreflect.FieldDescriptor) {
	m := c.ProtoReflect()
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		m = m.Mutable(fieldNamed(m.Descriptor(), name)).Message()
	}
	return m, fieldNamed(m.Descriptor(), names[len(names)-1])
}

// clearField makes a field unset.
func clearField(c *Config, path string) {
	m, fd := parentOf(c, path)
	m.Clear(fd)
}

// says says whether a field is set.
func says(c *Config, path string) bool {
	m := c.ProtoReflect()
	for name := range strings.SplitSeq(path, ".") {
		fd := fieldNamed(m.Descriptor(), name)
		if !m.Has(fd) {
			return false
		}
		if fd.Message() != nil && !fd.IsList() {
			m = m.Get(fd).Message()
		}
	}
	return true
}

// setField sets a single field from text, as a flag or variable gives it.
func setField(c *Config, path, text string) error {
	m, fd := parentOf(c, path)
	v, err := parseValue(fd, text)
	if err != nil {
		return err
	}
	m.Set(fd, v)
	return nil
}

// parseValue reads a single value. Enum values are accepted in any case, and
// with - for _.
func parseValue(fd protoreflect.FieldDescriptor, text string) (protoreflect.Value, error) {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		b, err := parseBool(text)
		return protoreflect.ValueOfBool(b), err
	case protoreflect.Int32Kind:
		n, err := strconv.ParseInt(text, 10, 32)
		return protoreflect.ValueOfInt32(int32(n)), numberError(err, text, "a whole number")
	case protoreflect.Int64Kind:
		n, err := strconv.ParseInt(text, 10, 64)
		return protoreflect.ValueOfInt64(n), numberError(err, text, "a whole number")
	case protoreflect.Uint64Kind:
		n, err := strconv.ParseUint(text, 10, 64)
		return protoreflect.ValueOfUint64(n), numberError(err, text, "a whole number from 0 up")
	case protoreflect.DoubleKind:
		x, err := strconv.ParseFloat(text, 64)
		return protoreflect.ValueOfFloat64(x), numberError(err, text, "a number")
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(text), nil
	case protoreflect.EnumKind:
		word := strings.ToUpper(strings.ReplaceAll(text, "-", "_"))
		if v := fd.Enum().Values().ByName(protoreflect.Name(word)); v != nil {
			return protoreflect.ValueOfEnum(v.Number()), nil
		}
		return protoreflect.Value{}, fmt.Errorf("%q is none of %s%s", text, kindName(fd), typo.Meant(text, strings.Split(kindName(fd), "|")...))
	}
	return protoreflect.Value{}, fmt.Errorf("field %s has no textual form", fd.FullName())
}

func numberError(err error, text, want string) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%q is too large", text)
	}
	return fmt.Errorf("%q is not %s", text, want)
}

// parseBool reads what people write for yes and no.
func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "1", "t", "true", "yes", "on":
		return true, nil
	case "0", "f", "false", "no", "off":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", text)
}

// kindName is a field's type in the words of help texts.
func kindName(fd protoreflect.FieldDescriptor) string {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return "bool"
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return "int"
	case protoreflect.Uint64Kind:
		return "uint"
	case protoreflect.DoubleKind:
		return "float"
	case protoreflect.EnumKind:
		words := make([]string, fd.Enum().Values().Len())
		for i := range words {
			words[i] = word(fd.Enum().Values().Get(i))
		}
		return strings.Join(words, "|")
	}
	return "string"
}

// word is an enum's value as flags take it.
func word(v protoreflect.EnumValueDescriptor) string {
	return strings.ToLower(strings.ReplaceAll(string(v.Name()), "_", "-"))
}

// scalarText writes a single value as textproto does.
func scalarText(fd protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch fd.Kind() {
	case protoreflect.EnumKind:
		if ev := fd.Enum().Values().ByNumber(v.Enum()); ev != nil {
			return string(ev.Name())
		}
		return strconv.Itoa(int(v.Enum()))
	case protoreflect.StringKind:
		return quote(v.String())
	case protoreflect.DoubleKind:
		return floatText(v.Float())
	}
	return fmt.Sprint(v.Interface())
}

// floatText writes a number as textproto does: inf, -inf and nan, too.
func floatText(x float64) string {
	return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(x, 'g', -1, 64)), "+")
}

// quote writes a string literal of textproto; Go's escapes are a subset of its.
func quote(s string) string { return strconv.Quote(s) }

// interval is the values that a number may have. Both ends are allowed unless open.
type interval struct {
	text              string // as the schema writes it
	low, high         float64
	lowOpen, highOpen bool
}

// parseInterval reads an interval: "[1,65536]", "(0,1]", "[-1,0)".
func parseInterval(text string) (interval, error) {
	inner := strings.TrimLeft(strings.TrimRight(text, "])"), "[(")
	left, right, ok := strings.Cut(inner, ",")
	low, lowErr := strconv.ParseFloat(left, 64)
	high, highErr := strconv.ParseFloat(right, 64)
	if !ok || lowErr != nil || highErr != nil || len(inner)+2 != len(text) || low > high {
		return interval{}, fmt.Errorf("range %q is not an interval such as [1,65536] or (0,1]", text)
	}
	return interval{text, low, high, text[0] == '(', strings.HasSuffix(text, ")")}, nil
}

func (b interval) holds(x float64) bool {
	return (x > b.low || x == b.low && !b.lowOpen) && (x < b.high || x == b.high && !b.highOpen)
}

// remedy says in words which numbers are allowed.
func (b interval) remedy() string {
	above, below := "from ", " up to "
	if b.lowOpen {
		above = "above "
	}
	if b.highOpen {
		below = " and below "
	}
	return "allowed is " + above + strconv.FormatFloat(b.low, 'f', -1, 64) + below + strconv.FormatFloat(b.high, 'f', -1, 64)
}

// intervalOf returns the range of a field. Every number of the schema has one; a
// text that is no interval is a fault of the schema and panics.
func intervalOf(fd protoreflect.FieldDescriptor) (b interval, ok bool) {
	text := proto.GetExtension(fd.Options(), E_Range).(string)
	if text == "" {
		return b, false
	}
	b, err := parseInterval(text)
	if err != nil {
		panic(fmt.Sprintf("config: %s: %v", fd.FullName(), err))
	}
	return b, true
}
