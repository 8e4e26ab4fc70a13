package config

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Marshal writes a configuration as textproto in canonical form: schema order,
// one field a line, two blanks of indent, no comments. Equal configurations give
// equal bytes, in every build of this schema version.
func Marshal(c *Config) []byte { return printer{}.print(c) }

// Hash is the SHA-256 of Marshal in hexadecimal digits.
func Hash(c *Config) string { return fmt.Sprintf("%x", sha256.Sum256(Marshal(c))) }

// Format writes a configuration as textproto with the schema's comments. What
// has no value stands as a comment; lines that begin with "#:" are examples of
// it.
func Format(c *Config) []byte { return printer{comments: true}.print(c) }

// Changed writes the values that are not the defaults, with their origins, as textproto.
func (e *Effective) Changed() []byte {
	c, defaults := Clone(e.Config), Defaults()
	fill(defaults.ProtoReflect())
	leaveEqual(c.ProtoReflect(), defaults.ProtoReflect())
	return printer{origin: e.Origin}.print(c)
}

// leaveEqual clears what m has as other has it.
func leaveEqual(m, other protoreflect.Message) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Message() != nil && !fd.IsList() && !fd.IsMap() && other.Has(fd) {
			leaveEqual(v.Message(), other.Get(fd).Message())
			if proto.Size(v.Message().Interface()) == 0 {
				m.Clear(fd)
			}
		} else if other.Has(fd) && v.Equal(other.Get(fd)) {
			m.Clear(fd)
		}
		return true
	})
}

type printer struct {
	out      strings.Builder
	indent   string
	comments bool
	origin   func(path string) string
	element  bool // inside of a list's element: comments would only repeat
}

func (p printer) print(c *Config) []byte {
	p.message(c.ProtoReflect(), "")
	return []byte(p.out.String())
}

func (p *printer) line(parts ...string) {
	p.out.WriteString(p.indent + strings.Join(parts, "") + "\n")
}

// message prints the fields of m.
func (p *printer) message(m protoreflect.Message, prefix string) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		path, name := join(prefix, string(fd.Name())), string(fd.Name())
		p.comment(m, fd)
		switch v := m.Get(fd); {
		case !m.Has(fd):
		case fd.IsMap():
			p.settings(name, v.Map())
		case fd.IsList():
			p.list(name, path, fd, v.List())
		case fd.Message() != nil:
			p.block(name, func() { p.message(v.Message(), path) })
		default:
			p.line(name, ": ", scalarText(fd, v), p.from(path))
		}
	}
}

// block prints a message in braces.
func (p *printer) block(name string, body func()) {
	p.line(name, " {")
	outer := p.indent
	p.indent += "  "
	body()
	p.indent = outer
	p.line("}")
}

func (p *printer) list(name, path string, fd protoreflect.FieldDescriptor, l protoreflect.List) {
	for k := range l.Len() {
		if fd.Message() == nil {
			p.line(name, ": ", scalarText(fd, l.Get(k)))
			continue
		}
		quiet := p.element
		p.element = p.element || k > 0
		p.block(name, func() { p.message(l.Get(k).Message(), fmt.Sprintf("%s[%d]", path, k)) })
		p.element = quiet
	}
}

// settings prints a map from string to string in the order of its keys.
func (p *printer) settings(name string, m protoreflect.Map) {
	values := stringsOf(m)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		p.line(name, " { key: ", quote(key), " value: ", quote(values[key]), " }")
	}
}

// comment prints what the schema says about a field, once per list.
func (p *printer) comment(m protoreflect.Message, fd protoreflect.FieldDescriptor) {
	doc, has := docOf(fd), m.Has(fd)
	if !p.comments || p.element || !has && kindOfStage(fd) {
		return
	}
	if !has && fd.Message() != nil {
		p.line("# ", string(fd.Name()), ": ", doc.text())
	} else {
		for _, l := range withRules(doc.lines, fd) {
			p.line("# ", l)
		}
	}
	if !has {
		for _, l := range doc.example {
			p.line("#: ", l)
		}
	}
}

// maxComment is the width up to which a comment's last line takes the rules.
const maxComment = 110

// withRules adds the range and the resume rule of a field to its comment.
func withRules(lines []string, fd protoreflect.FieldDescriptor) []string {
	var rules []string
	if b, ok := intervalOf(fd); ok {
		rules = append(rules, "Range "+b.text+".")
	}
	if rule := resumeText[proto.GetExtension(fd.Options(), E_Resume).(Resume)]; rule != "" {
		rules = append(rules, rule+".")
	}
	last := len(lines) - 1
	switch text := strings.Join(rules, " "); {
	case text == "":
		return lines
	case last >= 0 && len(lines[last])+1+len(text) <= maxComment:
		return append(slices.Clone(lines[:last]), lines[last]+" "+text)
	default:
		return append(slices.Clone(lines), text)
	}
}

// resumeText is a rule in words; empty = another value is taken.
var resumeText = map[Resume]string{
	Resume_FIXED:                  "Fixed once the run has begun",
	Resume_FIXED_ONCE_GIVEN:       "Fixed once the run has begun",
	Resume_FIXED_IF_DETERMINISTIC: "Fixed once a deterministic run has begun",
}

// from says where a value comes from, unless it is the default.
func (p *printer) from(path string) string {
	if p.origin == nil {
		return ""
	}
	where := p.origin(path)
	if where == "default" {
		return ""
	}
	return "  # " + where
}
