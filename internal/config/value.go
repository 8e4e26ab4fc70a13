package config

import (
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/proto"
)

// FlagSet holds what the flags of one command were set to. Register its Values
// with pflag.
type FlagSet struct {
	values []*Value
}

// NewFlagSet returns the flags of some groups in the order of the schema, none
// of them set.
func NewFlagSet(groups ...Group) *FlagSet {
	s := &FlagSet{}
	for _, f := range flags() {
		if slices.Contains(groups, f.Group) {
			s.values = append(s.values, &Value{flag: f, text: f.Default})
		}
	}
	return s
}

// Values returns the flags in the order of the schema.
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

// Value is one flag of a command. It satisfies pflag.Value.
type Value struct {
	flag Flag
	text string
	set  bool

	preset bool // text is the command's own default, until it is set
}

func (v *Value) Flag() Flag { return v.flag }

// String returns what was set, or the default.
func (v *Value) String() string {
	if v == nil {
		return ""
	}
	return v.text
}

// Set implements pflag.Value: it refuses what is not of the flag's type.
// Whether the value is in range is checked by Resolve.
func (v *Value) Set(text string) error {
	if _, err := v.flag.apply(Defaults(), text); err != nil {
		return err
	}
	if v.flag.paths() && v.set {
		text = v.text + string(filepath.ListSeparator) + text
	}
	v.text, v.set = text, true
	return nil
}

// Type implements pflag.Value.
func (v *Value) Type() string { return v.flag.kind() }

// NoOptDefVal is what pflag should take where the flag stands without a value;
// empty = a value is needed.
func (v *Value) NoOptDefVal() string {
	if v.flag.sets() != "" || v.flag.kind() == "bool" && !v.flag.said.GetValued() { // a switch
		return "true"
	}
	return ""
}

// on is false for a switch that was given as off.
func (s *FlagSet) on(name string) bool {
	on, err := parseBool(s.Lookup(name).text)
	return on || err != nil
}

// Groups of the commands: a command takes those whose fields it honours.
var (
	TrainGroups = []Group{Group_RUN, Group_EPISODES, Group_SELFPLAY, Group_SEARCH, Group_MODEL, Group_SOURCE, Group_TRAINING,
		Group_PRECISION, Group_EXPORTER, Group_STAGES, Group_PLUGINS, Group_METRICS, Group_LOG}
	// RunGroups are without Group_SOURCE: a cycle trains on its own shuffles.
	RunGroups = []Group{Group_RUN, Group_LOOP, Group_SELFPLAY, Group_SEARCH, Group_MODEL, Group_TRAINING, Group_PRECISION,
		Group_EXPORTER, Group_STAGES, Group_PLUGINS, Group_RETENTION, Group_METRICS, Group_LOG}
	GatekeeperGroups = []Group{Group_RUN, Group_GATEKEEPER, Group_PRECISION, Group_PLUGINS, Group_LOG}
	ExportGroups     = []Group{Group_RUN, Group_EXPORTER, Group_PLUGINS, Group_LOG}
	SelfPlayGroups   = []Group{Group_RUN, Group_PLAYER, Group_SELFPLAY, Group_SEARCH, Group_MODEL, Group_PRECISION, Group_PLUGINS,
		Group_METRICS, Group_LOG}
)

// Title is the heading of a group's flags.
func (g Group) Title() string {
	return proto.GetExtension(g.Descriptor().Values().ByNumber(g.Number()).Options(), E_Title).(string)
}
