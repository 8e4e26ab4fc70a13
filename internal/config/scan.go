package config

import (
	"fmt"
	"regexp"
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
	s := scanner{text: text, tokens: tokens.FindAllStringIndex(text, -1), places: map[string]int{}}
	s.message("", md, 0, 0)
	return s.places, s.later
}

// tokens are comments, string literals, names or numbers, and single other characters.
var tokens = regexp.MustCompile(`(?s)#[^\n]*|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|[\w.+-]+|[^\s,;]`)

type scanner struct {
	text   string
	tokens [][]int        // that are left: begin and end
	places map[string]int // by field path; list elements as path[i], and path for the first
	later  []string       // paths, in the order of the file
}

// peek skips comments and returns the first byte of the next token, 0 at the end.
func (s *scanner) peek() byte {
	for len(s.tokens) > 0 {
		if c := s.text[s.tokens[0][0]]; c != '#' {
			return c
		}
		s.tokens = s.tokens[1:]
	}
	return 0
}

// next takes the token that peek saw, and returns it and where it stands.
func (s *scanner) next() (token string, at int) {
	if len(s.tokens) == 0 {
		return "", len(s.text)
	}
	t := s.tokens[0]
	s.tokens = s.tokens[1:]
	return s.text[t[0]:t[1]], t[0]
}

// wordByte says whether a token that begins with c is a name or number.
func wordByte(c byte) bool {
	return strings.IndexByte("_.-+", c) >= 0 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// message scans fields until closing (0 = the end of the text). md may be nil
// inside of what the schema does not know.
func (s *scanner) message(prefix string, md protoreflect.MessageDescriptor, closing byte, depth int) {
	counts := map[string]int{}
	for {
		c := s.peek()
		name, here := s.next()
		if c == 0 || c == closing {
			return
		}
		if wordByte(c) {
			s.field(join(prefix, name), fieldNamed(md, name), here, counts, depth)
		}
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
		s.next()
	}
	if s.peek() != '[' {
		s.value(s.element(path, fd, here, counts), fd, depth)
		return
	}
	s.next()
	for c := s.peek(); c != 0 && c != ']'; c = s.peek() {
		if !s.value(s.element(path, fd, s.tokens[0][0], counts), fd, depth) {
			s.next()
		}
	}
	s.next()
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

// value skips one value, descending into messages; false where there is none.
func (s *scanner) value(path string, fd protoreflect.FieldDescriptor, depth int) bool {
	c := s.peek()
	switch {
	case c == '{' || c == '<':
		s.next()
		if depth >= maxDepth {
			s.tokens = nil
			return true
		}
		var md protoreflect.MessageDescriptor
		if fd != nil && !fd.IsMap() {
			md = fd.Message()
		}
		s.message(path, md, c+2, depth+1) // '}' and '>' follow two after
	case c == '"' || c == '\'':
		for c == '"' || c == '\'' { // adjacent literals are one value
			s.next()
			c = s.peek()
		}
	case c != 0 && wordByte(c):
		s.next()
	default:
		return false
	}
	return true
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
