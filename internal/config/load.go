package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
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

// readFile refuses what cannot be a configuration before reading it whole.
func readFile(path string) ([]byte, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml", ".json", ".toml":
		return nil, &Error{Where: path, Reason: "this is not a textproto file",
			Remedy: "write it like configs/example.textproto, as NAME.textproto"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, &Error{Where: path, Reason: fmt.Sprintf("cannot be opened: %v", errors.Unwrap(err)), Remedy: "check the path given with --config"}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return nil, &Error{Where: path, Reason: fmt.Sprintf("cannot be read: %v", err)}
	}
	if len(text) > MaxFileBytes {
		return nil, &Error{Where: path + ":1:1", Reason: fmt.Sprintf("longer than %d bytes, so not a configuration", MaxFileBytes)}
	}
	return text, nil
}

// Parse reads a configuration from text; name stands for it in messages.
// Unknown keys, sections whose code comes later, and a newer schema version are
// refused with their place; values are checked by Resolve.
func Parse(name string, text []byte) (*File, error) {
	f := &File{Name: name, Config: &Config{}, text: string(text)}
	var later []string
	f.places, later = scan(f.text, f.Config.ProtoReflect().Descriptor())
	var bad Errors
	for _, path := range later {
		bad = append(bad, &Error{Where: f.Where(path), Field: path, Reason: notInThisBuild, Remedy: "remove it"})
	}
	if len(bad) > 0 {
		return nil, bad
	}
	if err := unmarshal(name, text, f.Config); err != nil {
		return nil, err
	}
	if proto.Size(f.Config) == 0 {
		return nil, &Error{Where: name + ":1:1", Reason: "the file says nothing", Remedy: "start from configs/example.textproto, or leave --config away"}
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
// with file:line:column.
func unmarshal(name string, text []byte, m proto.Message) error {
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
	if strings.HasPrefix(e.Reason, "unknown field") {
		e.Remedy = "configs/example.textproto lists every key"
	}
	return e
}
