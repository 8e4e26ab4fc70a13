package rescore

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Setting describes one setting of a stage.
type Setting struct {
	Name     string
	Doc      string
	Text     bool    // a text; else a number from Min to Max
	Min, Max float64 //
	Default  string  // "" = none: a text may be left out where the stage can do without
}

// allowed says what values a setting takes.
func (s *Setting) allowed() string {
	if s.Text {
		return "a text"
	}
	return fmt.Sprintf("a number from %g to %g", s.Min, s.Max)
}

// Description describes a stage.
type Description struct {
	Name     string
	Doc      string
	Settings []Setting
}

// values are the settings of one instance by name, all of them.
type values struct {
	numbers map[string]float64
	texts   map[string]string
}

// parse checks settings one by one, in the order of their names.
func (d *Description) parse(settings map[string]string) (values, error) {
	v := values{numbers: map[string]float64{}, texts: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if !slices.ContainsFunc(d.Settings, func(s Setting) bool { return s.Name == name }) {
			return v, fmt.Errorf("unknown setting %q; %s", name, d.known())
		}
	}
	for i := range d.Settings {
		s := &d.Settings[i]
		text, ok := settings[s.Name]
		if !ok {
			text = s.Default
		}
		if s.Text {
			v.texts[s.Name] = text
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(x >= s.Min && x <= s.Max) {
			return v, fmt.Errorf("setting %s: %q, want %s", s.Name, text, s.allowed())
		}
		v.numbers[s.Name] = x
	}
	return v, nil
}

// known lists the names of the settings.
func (d *Description) known() string {
	if len(d.Settings) == 0 {
		return "it has none"
	}
	var names []string
	for _, s := range d.Settings {
		names = append(names, s.Name)
	}
	return "there are: " + strings.Join(names, ", ")
}
