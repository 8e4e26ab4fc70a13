package config

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxDepth is how deep messages may nest before the scan gives up; the schema
// needs 4.
const maxDepth = 50

// scan finds at which byte each field of a textproto stands, and which sections are
// there whose code comes later, whatever they contain. It promises nothing on a text
// that prototext refuses, but ends and does not panic.
func scan(text string, md protoreflect.MessageDescriptor) (places map[string]int, later []string) {
	s := scanner{text: text, places: map[string]int{}}
	s.message("", md, 0, 0)
	return s.places, s.later
}

type scanner struct {
	text   string
	at     int            // the next byte
	places map[string]int // by field path; list elements as path[i], and path for the first
	later  []string       // paths, in the order of the file
}

// step moves on by n bytes.
func (s *scanner) step(n int) { s.at = min(s.at+n, len(s.text)) }

// peek skips blanks, comments and separators and returns the next byte, 0 at
// the end.
func (s *scanner) peek() byte {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case strings.IndexByte(" \t\r\n,;", c) >= 0:
			s.step(1)
		case c == '#':
			s.step(len(s.text[s.at:]) - len(strings.TrimLeftFunc(s.text[s.at:], func(r rune) bool { return r != '\n' })))
		default:
			return c
		}
	}
	return 0
}

// word takes a name or number; it is empty where there is none.
func (s *scanner) word() string {
	start := s.at
	for s.at < len(s.text) && wordByte(s.text[s.at]) {
		s.step(1)
	}
	return s.text[start:s.at]
}

func wordByte(c byte) bool {
	return c == '_' || c == '.' || c == '-' || c == '+' ||
		'0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// quoted skips a string literal.
func (s *scanner) quoted(quote byte) {
	s.step(1)
	for s.at < len(s.text) && s.text[s.at] != quote {
		if s.text[s.at] == '\\' {
			s.step(1)
		}
		s.step(1)
	}
	s.step(1)
}

// message scans fields until closing (0 = the end of the text). md may be nil
// inside of what the schema does not know.
func (s *scanner) message(prefix string, md protoreflect.MessageDescriptor, closing byte, depth int) {
	counts := map[string]int{}
	for {
		c := s.peek()
		if c == 0 || c == closing {
			s.step(1)
			return
		}
		here := s.at
		name := s.word()
		if name == "" {
			s.step(1)
			continue
		}
		s.field(join(prefix, name), fieldNamed(md, name), here, counts, depth)
	}
}

// field scans what follows a field's name.
func (s *scanner) field(path string, fd protoreflect.FieldDescriptor, here int, counts map[string]int, depth int) {
	if _, seen := s.places[path]; !seen {
		s.places[path] = here
	}
	if fd != nil && laterSection(fd) {
		s.later = append(s.later, path)
	}
	if s.peek() == ':' {
		s.step(1)
	}
	if s.peek() != '[' {
		s.value(s.element(path, fd, here, counts), fd, depth)
		return
	}
	s.step(1)
	for {
		c := s.peek()
		if c == 0 || c == ']' {
			s.step(1)
			return
		}
		before := s.at
		s.value(s.element(path, fd, s.at, counts), fd, depth)
		if s.at == before {
			s.step(1)
		}
	}
}

// element returns the path of the next value of a field, which for a list has
// an index, and records its place.
func (s *scanner) element(path string, fd protoreflect.FieldDescriptor, here int, counts map[string]int) string {
	if fd == nil || !fd.IsList() {
		return path
	}
	indexed := fmt.Sprintf("%s[%d]", path, counts[path])
	counts[path]++
	s.places[indexed] = here
	return indexed
}

// value skips one value, descending into messages.
func (s *scanner) value(path string, fd protoreflect.FieldDescriptor, depth int) {
	switch c := s.peek(); c {
	case '{', '<':
		s.step(1)
		if depth >= maxDepth {
			s.at = len(s.text)
			return
		}
		var md protoreflect.MessageDescriptor
		if fd != nil && !fd.IsMap() {
			md = fd.Message()
		}
		s.message(path, md, c+2, depth+1) // '}' and '>' follow two after
	case '"', '\'':
		for c == '"' || c == '\'' { // adjacent literals are one value
			s.quoted(c)
			c = s.peek()
		}
	default:
		s.word()
	}
}

// fieldNamed returns a field of md, nil if there is none.
func fieldNamed(md protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if md == nil {
		return nil
	}
	return md.Fields().ByTextName(name)
}

func join(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}
