package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
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
	// Stretch is how many times as long as the file says the run shall be; nil = as it says.
	Stretch *float64
	// OfRun returns what the run of a configuration keeps of its latest start, see LoadRun;
	// nil = no run is there. Everything but the defaults wins over it.
	OfRun func(*Effective) (*File, error)
	// Otherwise returns the file of a configuration that names none and of which no run is
	// there; nil = the defaults.
	Otherwise func(*Effective) (*File, error)
}

// Effective is a configuration with every single field set, and where each
// value comes from.
type Effective struct {
	Config  *Config
	run     *File // what the run keeps; nil = no run, or it does not count
	file    *File
	origins map[string]string // path -> flag or variable
	given   map[string]bool   // flags given on the command line
	input   Input             // what it was resolved from
}

// Resolve merges flag > environment > file > run > default, resolves model kinds and
// implied values, and checks everything. Its errors are *Error or Errors.
func Resolve(in Input) (*Effective, error) {
	in.Flags = cmp.Or(in.Flags, &FlagSet{})
	if in.File == nil && in.Path != "" {
		file, err := Load(in.Path)
		if err != nil {
			return nil, err
		}
		in.File = file
	}
	e, err := merge(in, nil)
	if err != nil {
		return nil, err
	}
	var of *File
	if in.OfRun != nil {
		if of, err = in.OfRun(e); err != nil {
			return nil, err
		}
	}
	if of == nil && in.File == nil && in.Otherwise != nil {
		if in.File, err = in.Otherwise(e); err != nil {
			return nil, err
		}
	}
	if in.Stretch != nil {
		if in.File, err = in.File.stretch(*in.Stretch); err != nil {
			return nil, err
		}
	}
	if e, err = merge(in, of); err != nil {
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

// merge lays the parts of in over each other, over what the run keeps, and over the
// defaults.
func merge(in Input, of *File) (*Effective, error) {
	e := &Effective{Config: Defaults(), run: of, file: in.File, origins: map[string]string{}, given: map[string]bool{}, input: in}
	for _, v := range in.Flags.values { // the command's own defaults
		if !v.preset || v.set {
			continue
		}
		if _, err := v.flag.apply(e.Config, v.text); err != nil {
			return nil, &Error{Where: "default of --" + v.flag.Name, Field: v.flag.Path, Reason: err.Error()}
		}
	}
	for _, f := range []*File{of, in.File} {
		if f == nil {
			continue
		}
		for _, flag := range flags() {
			if list := flag.said.GetClears(); list != "" && says(f.Config, flag.Path) { // in the place of a schedule of the run's
				clearField(e.Config, list)
			}
		}
		overlay(e.Config.ProtoReflect(), proto.CloneOf(f.Config).ProtoReflect())
	}
	if err := e.applyOutside(in).orNil(); err != nil {
		return nil, err
	}
	if out := e.Config.GetSelfplay().GetOutputDir(); out != "" && e.Origin("run_dir") == "default" {
		e.Config.RunDir = proto.String(out) // a process that only plays needs no other directory
		e.origins["run_dir"] = e.Origin("selfplay.output_dir")
	}
	return e, nil
}

// LoadRun reads the configuration that a run wrote into its directory, as the base of
// another start, without what run.json says and what the schema calls of each start:
// places and open ports of a machine, limits of a start, and programs. A run directory is
// data, which travels and may be another user's, and only who starts a command says which
// programs it may start.
func LoadRun(path string) (*File, error) {
	file, err := LoadKept(path)
	if err != nil {
		return nil, err
	}
	_, paths := flatten(file.Config)
	for _, path := range paths {
		if rule := resumeOf(path); rule == Resume_EACH_START || rule == Resume_FIXED_ONCE_GIVEN {
			field, _, _ := strings.Cut(path, "[") // a list as a whole
			file.Leave(field)
		}
	}
	return file, nil
}

// Leave makes f say nothing of those fields.
func (f *File) Leave(paths ...string) {
	for _, path := range paths {
		clearField(f.Config, path)
		maps.DeleteFunc(f.places, func(at string, _ int) bool { return at == path || strings.HasPrefix(at, path+".") })
	}
}

// ResolveRun resolves the configuration that a run wrote into its directory, where
// no command names another file; see LoadRun.
func ResolveRun(path string) (*Effective, error) {
	file, err := LoadRun(path)
	if err != nil {
		return nil, err
	}
	file.Config.RunDir = proto.String(filepath.Dir(path))
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
	if in.OfRun != nil { // as it was at the start, which is the run's latest by now
		in.OfRun = func(*Effective) (*File, error) { return e.run, nil }
	}
	return Resolve(in)
}

// fromVariable begins the origin of what an environment variable set.
const fromVariable = "environment variable "

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
			set(v, text, fromVariable+v.flag.Env)
		}
	}
	for _, clears := range []bool{true, false} { // those that replace a schedule before a flag that gives one
		for _, v := range in.Flags.values {
			if v.set && (v.flag.said.GetClears() != "") == clears {
				e.given[v.flag.Name] = true
				set(v, v.text, "--"+v.flag.Name)
			}
		}
	}
	for _, p := range [][2]string{{"amp", "no-amp"}, {"devices", "device"}, {"devices", "producer-device"}, {"producer-workers", "producer-on-each-core"}} { // contradict each other
		if e.given[p[0]] && e.given[p[1]] && in.Flags.on(p[0]) && in.Flags.on(p[1]) {
			bad = append(bad, &Error{Where: "--" + p[0], Reason: fmt.Sprintf("--%s is given too", p[1]), Remedy: "keep one of the two"})
		}
	}
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
			if i := slices.IndexFunc(flags(), func(f Flag) bool { return f.Path == path && f.said.GetClears() != "" }); i >= 0 {
				clearField(e.Config, flags()[i].said.GetClears())
			}
			err = setField(e.Config, path, value)
		}
		if err != nil {
			bad = append(bad, &Error{Where: "--override-config " + text, Field: path, Reason: err.Error(), Remedy: "chessbrain recipes show example has all fields"})
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
// variable X", "file:line:column", of the run's own file, too, or "default".
func (e *Effective) Origin(path string) string {
	for p := path; p != ""; p = around(p) {
		if where, ok := e.origins[p]; ok {
			return where
		}
	}
	for _, f := range []*File{e.file, e.run} {
		if f == nil {
			continue
		}
		_, said := f.places[path]
		where := f.Where(path)
		if inElement := strings.Contains(path, "].") && where != f.Name; said || inElement {
			return where
		}
	}
	return "default"
}

// Layers says what the configuration is made of, from the weakest to the strongest, such
// as "defaults, runs/a/config.textproto, EPISODES, --lr".
func (e *Effective) Layers() string {
	layers := []string{"defaults"}
	for _, f := range []*File{e.run, e.file} {
		if f != nil {
			layers = append(layers, f.Name)
		}
	}
	var outside []string
	for _, v := range e.input.Flags.values {
		if e.origins[v.flag.Path] == fromVariable+v.flag.Env && v.flag.Env != "" {
			layers = append(layers, v.flag.Env)
		}
		if v.set && v.flag.Path != "run_dir" {
			outside = append(outside, "--"+v.flag.Name)
		}
	}
	if len(e.input.Overrides) > 0 {
		outside = append(outside, "--override-config")
	}
	return strings.Join(append(layers, outside...), ", ")
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
