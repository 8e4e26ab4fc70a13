package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/typo"
)

// MaxFileBytes is the largest configuration file that is read.
const MaxFileBytes = 1 << 20

// File is a configuration file: only what it says is set in Config.
type File struct {
	Name   string // as in messages
	Config *Config
	text   string
	places map[string]int // see scan
}

// Where returns "file:line:column" of a field path, or of the nearest enclosing
// field that the file has, or the file's name.
func (f *File) Where(path string) string {
	for path != "" {
		if at, ok := f.places[path]; ok {
			before := f.text[:at]
			return fmt.Sprintf("%s:%d:%d", f.Name, strings.Count(before, "\n")+1, at-strings.LastIndexByte(before, '\n'))
		}
		path = around(path)
	}
	return f.Name
}

// around is the path of the field that a field, or an element of a list, is in.
func around(path string) string {
	return path[:max(strings.LastIndexByte(path, '.'), strings.LastIndexByte(path, '['), 0)]
}

// Load reads a configuration file. Its errors are *Error or Errors (exit code
// 2), also when the file cannot be opened.
func Load(path string) (*File, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// LoadKept is Load for what a run wrote into its directory: text that it cannot have
// written is damage (exit code 3).
func LoadKept(path string) (*File, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	file, err := Parse(path, text)
	if bad, ok := errors.AsType[*Error](err); ok && bad.Field == "" {
		bad.Remedy = "it is damaged: put it back from config-history of the run, or from a copy"
		return nil, &DamagedError{bad}
	}
	return file, err
}

// readFile refuses what cannot be a configuration before reading it whole.
func readFile(path string) ([]byte, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml", ".json", ".toml":
		return nil, &Error{Where: path, Reason: "this is not a textproto file",
			Remedy: "write it as chessbrain recipes show example does, as NAME.textproto"}
	}
	text, err := fsx.ReadUpTo(fsx.OS, path, MaxFileBytes)
	if err != nil {
		return nil, &Error{Where: path, Reason: fmt.Sprintf("cannot be opened: %v", errors.Unwrap(err)), Remedy: "check the path given with --config"}
	}
	if len(text) > MaxFileBytes {
		return nil, &Error{Where: path + ":1:1", Reason: fmt.Sprintf("longer than %d bytes, so not a configuration", MaxFileBytes)}
	}
	return text, nil
}

// Parse reads a configuration from text; name stands for it in messages.
// Unknown keys and a newer schema version are refused with their place; values are
// checked by Resolve.
func Parse(name string, text []byte) (*File, error) {
	f := &File{Name: name, Config: &Config{}, text: string(text)}
	var words string
	f.places, words = scan(f.text, f.Config.ProtoReflect().Descriptor())
	if err := unmarshal(name, text, f.Config, words); err != nil {
		return nil, err
	}
	if proto.Size(f.Config) == 0 {
		return nil, &Error{Where: name + ":1:1", Reason: "the file says nothing", Remedy: "begin with chessbrain recipes show example; a run has copies of its own in config-history"}
	}
	if v := f.Config.GetVersion(); v != Default_Config_Version {
		return nil, &Error{Where: f.Where("version"), Field: "version", Value: strconv.Itoa(int(v)),
			Reason: fmt.Sprintf("this build knows version %d", Default_Config_Version), Remedy: "use a build that fits the file"}
	}
	if t := f.Config.GetTraining(); t != nil && t.Lr != nil && len(t.LrRule) > 0 {
		return nil, &Error{Where: f.Where("training.lr_rule"), Field: "training.lr_rule", Reason: "lr is set too", Remedy: "keep one of the two"}
	}
	return f, nil
}

var prototextError = regexp.MustCompile(`\(line (\d+):(\d+)\):[\s\x{a0}]*(.*)`)

// unmarshal parses a textproto and turns prototext's complaint into an *Error
// with file:line:column. words are what an enum takes, where the text has another word.
func unmarshal(name string, text []byte, m proto.Message, words string) error {
	err := prototext.Unmarshal(text, m)
	if err == nil {
		return nil
	}
	reason := strings.TrimLeft(strings.TrimPrefix(err.Error(), "proto:"), " \u00a0")
	where := name
	if p := prototextError.FindStringSubmatch(reason); p != nil {
		where, reason = fmt.Sprintf("%s:%s:%s", name, p[1], p[2]), p[3]
	}
	e := &Error{Where: where, Reason: strings.ReplaceAll(reason, "\u00a0", " ")}
	switch {
	case reason == io.ErrUnexpectedEOF.Error():
		e.Where, e.Remedy = fmt.Sprintf("%s:%d", name, 1+bytes.Count(bytes.TrimSpace(text), []byte("\n"))), "close what is open: a } or a quote is missing"
	case strings.HasPrefix(e.Reason, "invalid value for enum") && words != "":
		e.Remedy = "want " + words
	}
	if name, unknown := strings.CutPrefix(e.Reason, "unknown field: "); unknown {
		var names, elsewhere []string
		for _, path := range fieldPaths(m.ProtoReflect().Descriptor(), "", map[protoreflect.FullName]bool{}) {
			last := path[strings.LastIndexByte(path, '.')+1:]
			if names = append(names, last); last == name {
				elsewhere = append(elsewhere, path)
			}
		}
		meant := typo.Meant(name, names...)
		if len(elsewhere) > 0 && len(elsewhere) <= 4 {
			meant = "; there is " + strings.Join(elsewhere, " and ") + ";"
		}
		e.Remedy = strings.TrimLeft(meant+" chessbrain recipes show example lists every key", "; ")
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		e.Reason, e.Remedy = "this is not a textproto file: it begins as PGN does", "write it as chessbrain recipes show example does; games are for --data"
	}
	return e
}

// fieldPaths are the paths of the fields of a message, and of those in it that were not seen.
func fieldPaths(in protoreflect.MessageDescriptor, prefix string, seen map[protoreflect.FullName]bool) (paths []string) {
	seen[in.FullName()] = true
	for i := range in.Fields().Len() {
		f := in.Fields().Get(i)
		path := join(prefix, string(f.Name()))
		if paths = append(paths, path); f.Message() != nil && !seen[f.Message().FullName()] {
			paths = append(paths, fieldPaths(f.Message(), path, seen)...)
		}
	}
	return paths
}

// maxDepth is how deep messages may nest before the scan gives up; the schema
// needs 4.
const maxDepth = 50

// scan finds at which byte each field of a textproto stands, and what the first enum takes
// that has another word, "" = none. It promises nothing on a
// text that prototext refuses, but ends and does not panic.
func scan(text string, md protoreflect.MessageDescriptor) (places map[string]int, words string) {
	s := scanner{text: text, tokens: tokens.FindAllStringIndex(text, -1), places: map[string]int{}}
	s.message("", md, 0, 0)
	return s.places, s.words
}

// tokens are comments, string literals, names or numbers, and single other characters.
var tokens = regexp.MustCompile(`(?s)#[^\n]*|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|[\w.+-]+|[^\s,;]`)

type scanner struct {
	text   string
	tokens [][]int        // that are left: begin and end
	places map[string]int // by field path; list elements as path[i], and path for the first
	words  string
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
		text, _ := s.next()
		if fd != nil && fd.Enum() != nil && fd.Enum().Values().ByName(protoreflect.Name(text)) == nil && s.words == "" {
			words := strings.ToUpper(strings.ReplaceAll(kindName(fd), "-", "_"))
			s.words = words + typo.Meant(text, strings.Split(words, "|")...)
		}
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
