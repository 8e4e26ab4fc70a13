package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Limits of a description.
const (
	maxSettings     = 256
	maxChoices      = 1000
	maxCapabilities = 64
	maxVersion      = 40   // bytes
	maxWords        = 1000 // bytes of a doc, default or choice

	// maxDescription is the limit of the message. Most of one could be empty
	// settings, of two bytes each, which take a hundred times that in memory.
	maxDescription = 1 << 20
)

// encodeDefinition returns what d says of its stage.
func encodeDefinition(d *stage.Definition) *pluginpb.Description {
	p := &pluginpb.Description{
		Kind: string(d.Kind), Name: d.Name, Version: d.Version, Doc: d.Doc,
		Concurrency: int32(min(d.Concurrency, math.MaxInt32)),
	}
	for _, c := range d.Capabilities {
		p.Capabilities = append(p.Capabilities, string(c))
	}
	for _, s := range d.Settings {
		p.Settings = append(p.Settings, &pluginpb.Setting{
			Name: s.Name, Doc: s.Doc, DefaultValue: s.Default, Min: s.Min, Max: s.Max,
			Whole: s.Whole, Text: s.Text, Choices: s.Choices,
		})
	}
	return p
}

// decodeDefinition returns the definition that a plugin gave of itself, validated
// and fit to be printed.
func decodeDefinition(p *pluginpb.Description) (*stage.Definition, error) {
	d := &stage.Definition{
		Kind: stage.Kind(p.GetKind()), Name: p.GetName(), Version: p.GetVersion(), Doc: p.GetDoc(),
		Concurrency: int(p.GetConcurrency()),
	}
	if len(p.GetSettings()) > maxSettings || len(p.GetCapabilities()) > maxCapabilities {
		return nil, wrongAnswer("description: %d settings and %d capabilities, at most %d and %d",
			len(p.GetSettings()), len(p.GetCapabilities()), maxSettings, maxCapabilities)
	}
	for _, c := range p.GetCapabilities() {
		if !capabilityName.MatchString(c) {
			return nil, wrongAnswer("description: capability %.60q: want up to 40 of a-z, 0-9 and -", c)
		}
		d.Capabilities = append(d.Capabilities, stage.Capability(c))
	}
	for _, s := range p.GetSettings() {
		d.Settings = append(d.Settings, stage.Setting{
			Name: s.GetName(), Doc: s.GetDoc(), Default: s.GetDefaultValue(), Min: s.GetMin(), Max: s.GetMax(),
			Whole: s.GetWhole(), Text: s.GetText(), Choices: s.GetChoices(),
		})
	}
	if err := cmp.Or(checkWords(d), d.Validate()); err != nil {
		return nil, wrongAnswer("description: %w", err)
	}
	return d, nil
}

var capabilityName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// checkWords refuses texts that are too long or that a terminal would obey.
func checkWords(d *stage.Definition) error {
	err := cmp.Or(words("version", d.Version, maxVersion), words("doc", d.Doc, maxWords))
	for _, s := range d.Settings {
		err = cmp.Or(err, words("setting's doc", s.Doc, maxWords), words("setting's default", s.Default, maxWords))
		if len(s.Choices) > maxChoices {
			err = cmp.Or(err, fmt.Errorf("setting %.60q: %d choices, at most %d", s.Name, len(s.Choices), maxChoices))
		}
		for _, c := range s.Choices {
			err = cmp.Or(err, words("setting's choice", c, maxWords))
		}
	}
	return err
}

func words(what, text string, most int) error {
	if len(text) > most {
		return fmt.Errorf("%s: %d bytes, at most %d", what, len(text), most)
	}
	if !printable(text) {
		return fmt.Errorf("%s: %.60q has characters that cannot be printed", what, text)
	}
	return nil
}

// printable says that a terminal shows a text and obeys nothing in it.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar })
}

// DescribeJSON returns a definition as indented JSON, as `plugin --describe` and
// `chessbrain plugins describe --json` print it.
func DescribeJSON(d *stage.Definition) ([]byte, error) {
	type setting struct {
		Name    string   `json:"name"`
		Doc     string   `json:"doc"`
		Default string   `json:"default"`
		Allowed string   `json:"allowed"`
		Text    bool     `json:"text,omitempty"`
		Whole   bool     `json:"whole,omitempty"`
		Min     *float64 `json:"min,omitempty"` // none where there is no bound
		Max     *float64 `json:"max,omitempty"`
		Choices []string `json:"choices,omitempty"`
	}
	out := struct {
		Kind         stage.Kind         `json:"kind"`
		Name         string             `json:"name"`
		Version      string             `json:"version"`
		Doc          string             `json:"doc"`
		Settings     []setting          `json:"settings"`
		Capabilities []stage.Capability `json:"capabilities"`
		Concurrency  int                `json:"concurrency"`
		Protocol     int                `json:"protocol"`
	}{d.Kind, d.Name, d.Version, d.Doc, []setting{}, append([]stage.Capability{}, d.Capabilities...), d.Concurrency, ProtocolVersion}
	for _, s := range d.Settings {
		j := setting{Name: s.Name, Doc: s.Doc, Default: s.Default, Allowed: s.Allowed(), Text: s.Text, Whole: s.Whole, Choices: s.Choices}
		j.Min, j.Max = s.Bounds()
		out.Settings = append(out.Settings, j)
	}
	return json.MarshalIndent(out, "", "  ")
}
