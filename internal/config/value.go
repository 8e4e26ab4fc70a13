package config

import (
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
)

// FlagSet holds what the flags of one command were set to. Register its Values
// with the flag package or with pflag.
type FlagSet struct {
	groups []Group
	values []*Value
}

// NewFlagSet returns the flags of some groups, none of them set.
func NewFlagSet(groups ...Group) *FlagSet {
	s := &FlagSet{groups: groups}
	for i := range flagTable {
		if slices.Contains(groups, flagTable[i].Group) {
			s.values = append(s.values, newValue(flagTable[i]))
		}
	}
	return s
}

// Values returns the flags in the order of help.
func (s *FlagSet) Values() []*Value { return s.values }

// Lookup returns a flag by its name, nil if the set has none of that name.
func (s *FlagSet) Lookup(name string) *Value {
	for _, v := range s.values {
		if v.flag.Name == name {
			return v
		}
	}
	return nil
}

// Preset gives the flag name another default than the schema's: one command's own.
// A file, a variable and the flag itself win over it. The text must be valid.
func (s *FlagSet) Preset(name, text string) {
	v := s.Lookup(name)
	v.text, v.preset = text, true
}

// Value is one flag of a command. It satisfies flag.Value and pflag.Value.
type Value struct {
	flag Flag
	text string
	set  bool

	preset bool // text is the command's own default, until it is set
}

// newValue completes a flag's usage text from the schema.
func newValue(f Flag) *Value {
	if f.Usage == "" {
		if fd, err := descriptorOf(f.Path); err == nil {
			f.Usage = docOf(fd).text()
		}
	}
	f.Usage = strings.TrimSuffix(f.Usage, ".")
	if f.Env != "" {
		f.Usage += " [$" + f.Env + "]"
	}
	return &Value{flag: f, text: defaultText(&f)}
}

// defaultText is the default as help shows it.
func defaultText(f *Flag) string {
	if f.fixed != "" {
		return "false"
	}
	if f.split || f.list || f.Name == "devices" {
		return ""
	}
	m, fd := parentOf(Defaults(), f.Path)
	if m.Has(fd) && fd.Enum() != nil {
		return word(fd.Enum().Values().ByNumber(m.Get(fd).Enum()))
	}
	return strings.Trim(scalarText(fd, m.Get(fd)), `"`)
}

// Flag describes the flag.
func (v *Value) Flag() Flag { return v.flag }

// String returns what was set, or the default.
func (v *Value) String() string {
	if v == nil {
		return ""
	}
	return v.text
}

// Set implements flag.Value: it refuses what is not of the flag's type.
// Whether the value is in range is checked by Resolve.
func (v *Value) Set(text string) error {
	if _, err := v.flag.apply(proto.CloneOf(Defaults()), text); err != nil {
		return err
	}
	if v.flag.list && v.set {
		text = v.text + string(filepath.ListSeparator) + text
	}
	v.text, v.set = text, true
	return nil
}

// Type implements pflag.Value.
func (v *Value) Type() string { return v.flag.kind() }

// IsBoolFlag tells the standard flag package that the value may be left away.
func (v *Value) IsBoolFlag() bool { return v.flag.Switch() }

// NoOptDefVal is what pflag should take where the flag stands without a value;
// empty = a value is needed.
func (v *Value) NoOptDefVal() string {
	if v.flag.Switch() {
		return "true"
	}
	return ""
}

// on is false for a switch that was given as off.
func (s *FlagSet) on(name string) bool {
	v := s.Lookup(name)
	if v == nil || !v.flag.Switch() {
		return v != nil
	}
	on, err := parseBool(v.text)
	return on && err == nil || err != nil && v.flag.words
}
