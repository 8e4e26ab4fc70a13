package config

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Input is where a configuration comes from. All parts are optional.
type Input struct {
	Path string                      // configuration file; empty = none
	File *File                       // a file that is already read, instead of Path
	Env  func(string) (string, bool) // os.LookupEnv; nil = no environment
	// Overrides are texts path=value[,path=value ...], each pair setting a single
	// field as a flag would: what --override-config gives. They win over the flags.
	Overrides []string
	Flags     *FlagSet // flags of the command, which also say which variables count; nil = none of both
}

// Effective is a configuration with every single field set, and where each
// value comes from.
type Effective struct {
	Config  *Config
	file    *File
	origins map[string]string // path -> flag or variable
	given   map[string]bool   // flags given on the command line
	input   Input             // what it was resolved from
}

// Resolve merges flag > environment > file > default, resolves model kinds and
// implied values, and checks everything. Its errors are *Error or Errors.
func Resolve(in Input) (*Effective, error) {
	if in.Flags == nil {
		in.Flags = &FlagSet{}
	}
	file := in.File
	if file == nil && in.Path != "" {
		var err error
		if file, err = Load(in.Path); err != nil {
			return nil, err
		}
	}
	e := &Effective{Config: Defaults(), file: file, origins: map[string]string{}, given: map[string]bool{}, input: in}
	for _, v := range in.Flags.values { // the command's own defaults
		if !v.preset || v.set {
			continue
		}
		if _, err := v.flag.apply(e.Config, v.text); err != nil {
			return nil, &Error{Where: "default of --" + v.flag.Name, Field: v.flag.Path, Reason: err.Error()}
		}
	}
	if file != nil {
		overlay(e.Config.ProtoReflect(), proto.CloneOf(file.Config).ProtoReflect())
	}
	if err := e.applyOutside(in).orNil(); err != nil {
		return nil, err
	}
	fill(e.Config.ProtoReflect())
	if err := e.normalise(); err != nil {
		return nil, err
	}
	if err := e.validate().orNil(); err != nil {
		return nil, err
	}
	return e, nil
}

// ResolveRun resolves the configuration that a run wrote into its directory, where
// no command names another file. The directories of programs in it do not count: a
// run directory is data, which travels and may be another user's, and only who
// starts a command says which programs it may start.
func ResolveRun(path string) (*Effective, error) {
	file, err := Load(path)
	if err != nil {
		return nil, err
	}
	if p := file.Config.GetPlugins(); p != nil {
		p.Dir = nil
	}
	return Resolve(Input{File: file})
}

// Reload reads the configuration file of e again and merges it with the same
// flags, environment and overrides. e stays as it is. Without a file it is an
// error.
func (e *Effective) Reload() (*Effective, error) {
	if e.input.Path == "" {
		return nil, &Error{Where: "--config", Reason: "this process was started without a configuration file", Remedy: "start it with --config FILE"}
	}
	in := e.input
	in.File = nil
	return Resolve(in)
}

// applyOutside applies the environment, then the flags. An empty variable is as
// good as none: scripts pass on what they were not given.
func (e *Effective) applyOutside(in Input) (bad Errors) {
	set := func(v *Value, text, where string) {
		changed, err := v.flag.apply(e.Config, text)
		if err != nil {
			bad = append(bad, &Error{Where: where, Field: v.flag.Path, Reason: err.Error(), Remedy: "correct or unset it"})
		}
		for _, path := range changed {
			e.origins[path] = where
		}
	}
	for _, v := range in.Flags.values {
		if v.flag.Env == "" || in.Env == nil {
			continue
		}
		if text, ok := in.Env(v.flag.Env); ok && text != "" {
			set(v, text, "environment variable "+v.flag.Env)
		}
	}
	for _, v := range in.Flags.values {
		if v.set {
			e.given[v.flag.Name] = true
			set(v, v.text, "--"+v.flag.Name)
		}
	}
	bad = append(bad, e.conflicts(in.Flags)...)
	return append(bad, e.override(in.Overrides)...)
}

// override applies texts of path=value pairs.
func (e *Effective) override(texts []string) (bad Errors) {
	for _, text := range pairsOf(texts) {
		path, value, ok := strings.Cut(text, "=")
		fd, err := descriptorOf(path)
		switch {
		case !ok:
			err = errors.New("want path=value, such as mcts.simulations=100")
		case err != nil:
		case fd.Message() != nil || fd.IsList() || fd.IsMap():
			err = fmt.Errorf("%s is not a single value; write it in a file for --config", path)
		default:
			err = setField(e.Config, path, value)
		}
		if err != nil {
			bad = append(bad, &Error{Where: "--override-config " + text, Field: path, Reason: err.Error(), Remedy: "configs/example.textproto has all fields"})
			continue
		}
		e.origins[path] = "--override-config"
	}
	return bad
}

// pairsOf splits texts at their commas; a part without = belongs to the value
// before it.
func pairsOf(texts []string) (pairs []string) {
	for _, text := range texts {
		for i, part := range strings.Split(text, ",") {
			if last := len(pairs) - 1; i > 0 && !strings.Contains(part, "=") {
				pairs[last] += "," + part
			} else {
				pairs = append(pairs, part)
			}
		}
	}
	return pairs
}

// conflicts refuses flags that contradict each other.
func (e *Effective) conflicts(flags *FlagSet) (bad Errors) {
	pairs := [][2]string{{"amp", "no-amp"}, {"devices", "device"}, {"devices", "producer-device"}}
	for _, p := range pairs {
		if e.given[p[0]] && e.given[p[1]] && flags.on(p[0]) && flags.on(p[1]) {
			bad = append(bad, &Error{Where: "--" + p[0], Reason: fmt.Sprintf("--%s is given too", p[1]), Remedy: "keep one of the two"})
		}
	}
	return bad
}

// overlay copies what src sets over dst. A list or map replaces the one that was
// there as a whole.
func overlay(dst, src protoreflect.Message) {
	src.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Message() == nil || fd.IsList() || fd.IsMap() {
			dst.Set(fd, v)
		} else {
			overlay(dst.Mutable(fd).Message(), v.Message())
		}
		return true
	})
}

// Origin says where the value of a field comes from: "--flag", "environment
// variable X", "file:line:column" or "default".
func (e *Effective) Origin(path string) string {
	for p := path; p != ""; p = around(p) {
		if where, ok := e.origins[p]; ok {
			return where
		}
	}
	if e.file == nil {
		return "default"
	}
	_, said := e.file.places[path]
	where := e.file.Where(path)
	if inElement := strings.Contains(path, "].") && where != e.file.Name; said || inElement {
		return where
	}
	return "default"
}

// Errorf returns an *Error about the value of a field, with its origin, for
// faults that only another room can find (no such device, directory not
// writable).
func (e *Effective) Errorf(path, remedy, format string, args ...any) error {
	return &Error{Where: e.Origin(path), Field: path, Value: e.valueText(path), Reason: fmt.Sprintf(format, args...), Remedy: remedy}
}

// valueText returns a field's value as textproto, empty where the path has
// indices or does not exist.
func (e *Effective) valueText(path string) string {
	fd, err := descriptorOf(path)
	if err != nil || fd.Message() != nil || fd.IsList() {
		return ""
	}
	m, fd := parentOf(e.Config, path)
	return scalarText(fd, m.Get(fd))
}
