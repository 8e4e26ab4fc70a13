package stage

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Setting describes one setting of a stage: a number from Min to Max or a text.
type Setting struct {
	Name    string // [a-z0-9_]
	Doc     string // what it does, with units
	Default string // "" = none: a text may be left out where the stage can do without

	Min, Max float64
	Whole    bool // the number has no fraction

	Text    bool
	Choices []string // the texts that there are; nil = any
}

// Allowed says what values the setting takes.
func (s *Setting) Allowed() string {
	switch {
	case len(s.Choices) > 0:
		return "one of " + strings.Join(s.Choices, ", ")
	case s.Text:
		return "a text"
	case s.Whole:
		return fmt.Sprintf("a whole number from %.0f to %.0f", s.Min, s.Max)
	}
	return fmt.Sprintf("a number from %g to %g", s.Min, s.Max)
}

// Bounds returns the bounds of a number for JSON, which has no infinity: nil where there
// is none.
func (s *Setting) Bounds() (least, most *float64) {
	if !s.Text && !math.IsInf(s.Min, 0) {
		least = &s.Min
	}
	if !s.Text && !math.IsInf(s.Max, 0) {
		most = &s.Max
	}
	return least, most
}

// check adds the value that text gives the setting.
func (s *Setting) check(v Values, text string) error {
	if s.Text {
		if len(s.Choices) > 0 && !slices.Contains(s.Choices, text) {
			return fmt.Errorf("setting %s: %q, want %s", s.Name, text, s.Allowed())
		}
		v.texts[s.Name] = text
		return nil
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(x >= s.Min && x <= s.Max) || s.Whole && x != math.Trunc(x) {
		return fmt.Errorf("setting %s: %q, want %s", s.Name, text, s.Allowed())
	}
	v.numbers[s.Name] = x
	return nil
}

// Values are the checked settings of one instance of a stage, all of them.
type Values struct {
	numbers map[string]float64
	texts   map[string]string
}

// Number returns the value of a setting that is a number.
func (v Values) Number(name string) float64 { return v.numbers[name] }

// Text returns the value of a setting that is a text.
func (v Values) Text(name string) string { return v.texts[name] }

// Values checks settings, given as text by name, in the order in which they are
// described. One that is not given has its default. Errors name the setting and
// what is allowed.
func (d *Definition) Values(settings map[string]string) (Values, error) {
	v := Values{numbers: map[string]float64{}, texts: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if !slices.ContainsFunc(d.Settings, func(s Setting) bool { return s.Name == name }) {
			return v, fmt.Errorf("unknown setting %q; %s", name, d.known())
		}
	}
	for _, s := range d.Settings {
		text, ok := settings[s.Name]
		if !ok {
			text = s.Default
		}
		if err := s.check(v, text); err != nil {
			return v, err
		}
	}
	return v, nil
}

// known lists the names of the settings.
func (d *Definition) known() string {
	if len(d.Settings) == 0 {
		return "it has none"
	}
	var names []string
	for _, s := range d.Settings {
		names = append(names, s.Name)
	}
	return "there are: " + strings.Join(names, ", ")
}
