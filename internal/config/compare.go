package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Change is one field that differs between two starts of a run.
type Change struct {
	Path     string
	Old, New string // as textproto; empty = not set
	Remedy   string // of a refused change
}

func (c Change) String() string {
	s := fmt.Sprintf("%s: %s -> %s", c.Path, cmp.Or(c.Old, notSet), cmp.Or(c.New, notSet))
	if c.Remedy != "" {
		s += "; " + c.Remedy
	}
	return s
}

const notSet = "(none)"

// Clone returns a deep copy.
func Clone(c *Config) *Config { return proto.CloneOf(c) }

// Diff is what Compare found, in schema order.
type Diff struct {
	Logged  []Change // allowed; the caller logs them
	Refused []Change // the run cannot go on with them
}

// Err returns an error with exit code 2 that lists every refused change, nil if
// there is none.
func (d Diff) Err() error {
	var bad Errors
	for _, c := range d.Refused {
		bad = append(bad, &Error{Where: "the run was begun with another configuration", Field: c.Path,
			Reason: cmp.Or(c.Old, notSet) + " -> " + cmp.Or(c.New, notSet), Remedy: c.Remedy})
	}
	return bad.orNil()
}

const takeOldOrNewRun = "leave it away, or begin a new run with another --run-dir; chessbrain migrate-checkpoint takes the weights along, and chessbrain grow makes a larger net of them, as --grow NET@0 does within a closed loop"

// Compare holds the configuration that a run was begun (or last gone on with)
// against the one of this start; both are effective ones. A change is refused
// where the schema's resume rule of the field says so.
func Compare(old, new *Config) Diff {
	before, paths := flatten(old)
	after, newPaths := flatten(new)
	for _, p := range newPaths {
		if !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	var d Diff
	was, is := bodyOf(old), bodyOf(new)
	otherBody, told := was != is && was != "" && is != "", false
	for _, path := range paths {
		c, rule := Change{Path: path, Old: before[path], New: after[path]}, resumeOf(path)
		switch {
		case otherBody && (path == policyHead || strings.HasPrefix(path, archPath+was+".") || strings.HasPrefix(path, archPath+is+".")):
			if !told { // one complaint, not one of each size of both
				d.Refused = append(d.Refused, Change{Path: strings.TrimSuffix(archPath, "."), Old: was, New: is, Remedy: takeOldOrNewRun})
				told = true
			}
		case c.Old == c.New:
		case rule == Resume_FIXED && c.Old == "" && c.New == presetOf(path): // the run is older than the field, and did as its default says
		case rule == Resume_FIXED_ONCE_GIVEN && (c.Old == `""` || c.New == `""`): // empty = the one of the run
		case rule == Resume_FREE, rule == Resume_EACH_START, rule == Resume_FIXED_IF_DETERMINISTIC && !new.GetDeterministic():
			d.Logged = append(d.Logged, c)
		default: // for deterministic runs, too: promising it afterwards would be untrue
			c.Remedy = takeOldOrNewRun
			d.Refused = append(d.Refused, c)
		}
	}
	return d
}

const archPath = "model.arch."

// bodyOf returns which body the net of c has, by its field's name; "" where none is said.
func bodyOf(c *Config) string {
	arch := c.GetModel().GetArch().ProtoReflect()
	if fd := arch.WhichOneof(arch.Descriptor().Oneofs().ByName("body")); fd != nil {
		return string(fd.Name())
	}
	return ""
}

// NotDefault returns the settings of c that differ from the defaults by path: texts as
// they are, all else as textproto.
func NotDefault(c *Config) map[string]string {
	values, _ := flatten(c)
	defaults, _ := flatten(Defaults())
	for path, value := range values {
		if value == defaults[path] {
			delete(values, path)
		} else if text, err := strconv.Unquote(value); err == nil {
			values[path] = text
		}
	}
	return values
}

// resumeOf returns the rule of a field: its own, or that of a message around it.
func resumeOf(path string) Resume {
	md := (*Config)(nil).ProtoReflect().Descriptor()
	for name := range strings.SplitSeq(path, ".") {
		name, _, _ = strings.Cut(name, "[")
		fd := fieldNamed(md, name)
		if rule := proto.GetExtension(fd.Options(), E_Resume).(Resume); rule != Resume_FREE {
			return rule
		}
		md = fd.Message()
	}
	return Resume_FREE
}

// presetOf returns the text of a single field's default; "" in a list, where a new
// element is a choice.
func presetOf(path string) string {
	md := (*Config)(nil).ProtoReflect().Descriptor()
	for name := range strings.SplitSeq(path, ".") {
		fd := fieldNamed(md, name)
		switch {
		case fd == nil || fd.Cardinality() == protoreflect.Repeated:
			return ""
		case fd.Message() == nil:
			return scalarText(fd, fd.Default())
		}
		md = fd.Message()
	}
	return ""
}

// flatten returns every single value and map by its path, and the paths in schema order,
// the maps' last.
func flatten(c *Config) (values map[string]string, paths []string) {
	var maps []string
	values = map[string]string{}
	walk(c.ProtoReflect(), "", func(path string, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
		if fd.IsMap() {
			values[path], maps = fmt.Sprint(stringsOf(v.Map())), append(maps, path) // fmt sorts map keys
		} else {
			values[path], paths = scalarText(fd, v), append(paths, path)
		}
	})
	return values, append(paths, maps...)
}

// stringsOf returns a map from string to string, as all of this schema are.
func stringsOf(m protoreflect.Map) map[string]string {
	values := map[string]string{}
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		values[k.String()] = v.String()
		return true
	})
	return values
}
