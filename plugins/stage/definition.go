package stage

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Kind says what a stage does.
type Kind string

// The kinds of stages that are chosen by name.
const (
	KindRescorer Kind = "rescorer"
	KindSampler  Kind = "sampler"
	KindExporter Kind = "exporter"
)

// Named returns err with the stage that it is about in front: "rescorer NAME: ...".
// Errors of programs say it themselves; they stay as they are.
func (k Kind) Named(name string, err error) error {
	prefix := string(k) + " " + name + ": "
	if strings.HasPrefix(err.Error(), prefix) {
		return err
	}
	return fmt.Errorf("%s%w", prefix, err)
}

// Capability is something that a stage promises or asks for.
type Capability string

const (
	// Deterministic: equal input, settings and state give equal output on every machine.
	Deterministic Capability = "deterministic"
	// NeedsGames: an exporter that reads Checkpoint.Games.
	NeedsGames Capability = "needs-games"
	// NeedsLegalMoves: a plugin without chess rules of its own, which is sent the
	// legal moves beside each policy.
	NeedsLegalMoves Capability = "needs-legal-moves"
)

// Choice names a stage and its settings, as a user chose them.
type Choice struct {
	Name     string
	Settings map[string]string // by name; those that are not given have their defaults
}

// Definition describes a stage and makes instances of it, each with its own
// settings. Exactly one of the three New functions is set, that of its Kind;
// none in what a plugin said of itself.
type Definition struct {
	Kind         Kind
	Name         string // [a-z0-9][a-z0-9-]*
	Version      string // of the stage, such as 1.0.0
	Doc          string // one sentence
	Settings     []Setting
	Capabilities []Capability
	Concurrency  int // calls that an instance works on at a time; 0 = any number

	NewRescorer func(Values) (Rescorer, error)
	NewSampler  func(Values) (Sampler, error)
	NewExporter func(Values) (Exporter, error)
}

// Has says whether the stage has a capability.
func (d *Definition) Has(c Capability) bool { return slices.Contains(d.Capabilities, c) }

var (
	stageName   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)
	settingName = regexp.MustCompile(`^[a-z0-9][a-z0-9_]{0,39}$`)
)

// Validate checks a definition: names, settings and the defaults of those that
// need one.
func (d *Definition) Validate() error {
	if !stageName.MatchString(d.Name) {
		return fmt.Errorf("stage name %q: want up to 40 of a-z, 0-9 and -", d.Name)
	}
	if d.Kind != KindRescorer && d.Kind != KindSampler && d.Kind != KindExporter {
		return fmt.Errorf("stage %s: unknown kind %q; there are: rescorer, sampler, exporter", d.Name, d.Kind)
	}
	if d.Concurrency < 0 {
		return fmt.Errorf("stage %s: concurrency %d, want 0 or more", d.Name, d.Concurrency)
	}
	seen := map[string]bool{}
	for _, s := range d.Settings {
		switch {
		case !settingName.MatchString(s.Name):
			return fmt.Errorf("stage %s: setting name %q: want up to 40 of a-z, 0-9 and _", d.Name, s.Name)
		case seen[s.Name]:
			return fmt.Errorf("stage %s: setting %s is there twice", d.Name, s.Name)
		case !s.Text && !(s.Min <= s.Max):
			return fmt.Errorf("stage %s: setting %s: no number is from %g to %g", d.Name, s.Name, s.Min, s.Max)
		}
		seen[s.Name] = true
	}
	if _, err := d.Values(nil); err != nil {
		return fmt.Errorf("stage %s: its defaults: %w", d.Name, err)
	}
	return nil
}

// Find returns the definition with a name. The error lists those that there are.
func Find(all []*Definition, kind Kind, name string) (*Definition, error) {
	var names []string
	for _, d := range all {
		if d.Kind != kind {
			continue
		}
		if d.Name == name {
			return d, nil
		}
		names = append(names, d.Name)
	}
	return nil, fmt.Errorf("unknown %s %q; there are: %s", kind, name, strings.Join(names, ", "))
}

// MustFind is Find of a definition that is there, or the program is wrong: it panics.
func MustFind(all []*Definition, kind Kind, name string) *Definition {
	d, err := Find(all, kind, name)
	if err != nil {
		panic(err)
	}
	return d
}

// MakeRescorer makes a rescorer with the given settings. Errors name the stage.
func (d *Definition) MakeRescorer(settings map[string]string) (Rescorer, error) {
	return make1(d, settings, d.NewRescorer)
}

// MakeSampler makes a sampler. Errors name the stage.
func (d *Definition) MakeSampler(settings map[string]string) (Sampler, error) {
	return make1(d, settings, d.NewSampler)
}

// MakeExporter makes an exporter. Errors name the stage.
func (d *Definition) MakeExporter(settings map[string]string) (Exporter, error) {
	return make1(d, settings, d.NewExporter)
}

// make1 checks the settings and makes one instance.
func make1[T any](d *Definition, settings map[string]string, newT func(Values) (T, error)) (T, error) {
	var none T
	if newT == nil {
		return none, fmt.Errorf("%s %s cannot be made in this process", d.Kind, d.Name)
	}
	v, err := d.Values(settings)
	var made T
	if err == nil {
		made, err = newT(v)
	}
	if err != nil {
		return none, fmt.Errorf("%s %s: %w", d.Kind, d.Name, err)
	}
	return made, nil
}
