package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Flag is a command-line flag of a field, as the schema's option says it.
type Flag struct {
	Name    string
	Env     string // variable that sets it too; empty = none
	Path    string // field that it sets, such as training.batch_size
	Group   Group
	Default string // as help shows it
	Usage   string // the option's help, or else the field's comment
	Range   string // of a number, as an interval; empty = no number
	Matters bool   // stands in the short help

	said  *FlagOption
	field protoreflect.FieldDescriptor // that the option stands at
}

// flags are those of the whole schema, in its order.
var flags = sync.OnceValue(func() []Flag {
	var all []Flag
	defaults := Defaults()
	var read func(md protoreflect.MessageDescriptor, prefix string)
	read = func(md protoreflect.MessageDescriptor, prefix string) {
		for i := range md.Fields().Len() {
			fd := md.Fields().Get(i)
			path := join(prefix, string(fd.Name()))
			for _, said := range proto.GetExtension(fd.Options(), E_Flag).([]*FlagOption) {
				all = append(all, newFlag(said, fd, path, defaults))
			}
			if fd.Message() != nil && !fd.IsList() && !fd.IsMap() {
				read(fd.Message(), path)
			}
		}
	}
	read((*Config)(nil).ProtoReflect().Descriptor(), "")
	return all
})

// newFlag completes an option by what the field says. A flag of a single stage
// sets the stage's name.
func newFlag(said *FlagOption, fd protoreflect.FieldDescriptor, path string, defaults *Config) Flag {
	f := Flag{Name: said.GetName(), Env: said.GetEnv(), Path: path, Group: said.GetGroup(), Usage: said.GetHelp(),
		Matters: said.GetMatters(), said: said, field: fd}
	if f.Usage == "" {
		f.Usage = docOf(fd).text()
	}
	f.Usage = strings.TrimSuffix(f.Usage, ".")
	if b, ok := intervalOf(fd); ok {
		f.Range = b.text
	}
	if fd.Message() != nil && !fd.IsList() {
		f.Path += ".name"
		f.field = fieldNamed(fd.Message(), "name")
	}
	f.Default = defaultText(&f, defaults)
	return f
}

// defaultText is the default as help shows it.
func defaultText(f *Flag, defaults *Config) string {
	if f.sets() != "" {
		return "false"
	}
	if f.field.IsList() || f.said.GetAlso() != "" {
		return ""
	}
	m, fd := parentOf(defaults, f.Path)
	if m.Has(fd) && fd.Enum() != nil {
		return word(fd.Enum().Values().ByNumber(m.Get(fd).Enum()))
	}
	return strings.Trim(scalarText(fd, m.Get(fd)), `"`)
}

// JoinWords writes --amp bf16 as --amp=bf16: to the flag packages a switch that takes
// words has no value in the next argument.
func JoinWords(args []string) []string {
	var joined []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(joined, args[i:]...)
		}
		joined = append(joined, args[i])
		if i+1 < len(args) && takesWord(args[i], args[i+1]) {
			i++
			joined[len(joined)-1] += "=" + args[i]
		}
	}
	return joined
}

// takesWord says whether an argument is a switch that takes words, and the next
// one is such a word, or a wrong one: it is no flag and no path.
func takesWord(arg, next string) bool {
	word := !strings.HasPrefix(next, "-") && !strings.ContainsAny(next, `/\`)
	return word && slices.ContainsFunc(flags(), func(f Flag) bool { return f.takesWords() && arg == "--"+f.Name })
}

// sets is the value that a switch gives its field; empty = no such switch.
func (f *Flag) sets() string { return f.said.GetValue() }

func (f *Flag) takesWords() bool { return f.said.GetWords() != "" }

// stages says whether the field is a list of named stages, paths whether it is a
// list of paths. The texts of both are lists: a,b, or as PATH has them.
func (f *Flag) stages() bool { return f.field.IsList() && f.field.Message() != nil }
func (f *Flag) paths() bool  { return f.field.IsList() && f.field.Message() == nil }

// kind is the flag's type for help texts: int, uint, float, bool, string or the
// words of an enum.
func (f *Flag) kind() string {
	switch {
	case f.takesWords():
		return f.said.GetWords()
	case f.sets() != "":
		return "bool"
	case f.stages():
		return "names"
	case f.paths():
		return "directory"
	}
	return kindName(f.field)
}

// apply sets the flag's fields in c from text and returns the paths that it
// changed.
func (f *Flag) apply(c *Config, text string) ([]string, error) {
	changed := []string{f.Path}
	switch {
	case f.sets() != "":
		return f.turn(c, text)
	case f.stages():
		return changed, setStages(c, text)
	case f.paths():
		return changed, setPaths(c, f.Path, text)
	case f.said.GetAlso() != "":
		first, second, ok := strings.Cut(text, ",")
		if !ok {
			return nil, fmt.Errorf("%q is not two devices separated by a comma", text)
		}
		return append(changed, f.said.GetAlso()), errors.Join(setField(c, f.Path, first), setField(c, f.said.GetAlso(), second))
	}
	if list := f.said.GetClears(); list != "" {
		clearField(c, list)
		changed = append(changed, list)
	}
	return changed, setField(c, f.Path, text)
}

// turn applies a switch that gives its field a value. Off, it takes back what a
// file or variable said, if that is the switch's own value.
func (f *Flag) turn(c *Config, text string) ([]string, error) {
	changed := []string{f.Path}
	on, err := parseBool(text)
	m, fd := parentOf(c, f.Path)
	if f.takesWords() {
		if v, wordErr := parseValue(fd, text); wordErr == nil {
			m.Set(fd, v)
			return changed, nil
		} else if err != nil {
			return changed, wordErr
		}
	}
	switch {
	case err != nil:
		return nil, err
	case on:
		return changed, setField(c, f.Path, f.sets())
	case scalarText(fd, m.Get(fd)) == f.sets():
		m.Set(fd, fd.Default())
		return changed, nil
	}
	return nil, nil
}

// setStages replaces the rescorers by those named in text; the settings of one
// that was there stay.
func setStages(c *Config, text string) error {
	old := map[string]*Stage{}
	for _, s := range c.GetPlugins().GetRescorer() {
		old[s.GetName()] = s
	}
	c.Plugins = cmp.Or(c.Plugins, &Plugins{})
	c.Plugins.Rescorer = nil
	for name := range strings.SplitSeq(text, ",") {
		if name == "" {
			return fmt.Errorf("%q has an empty name; identity is the rescorer that changes nothing", text)
		}
		c.Plugins.Rescorer = append(c.Plugins.Rescorer, cmp.Or(old[name], &Stage{Name: &name}))
	}
	return nil
}

// setPaths replaces a list of paths by those in text.
func setPaths(c *Config, path, text string) error {
	m, fd := parentOf(c, path)
	m.Clear(fd)
	list := m.Mutable(fd).List()
	for _, one := range filepath.SplitList(text) {
		if one == "" {
			return fmt.Errorf("%q has an empty path", text)
		}
		list.Append(protoreflect.ValueOfString(one))
	}
	if list.Len() == 0 {
		return errors.New("no path")
	}
	return nil
}
