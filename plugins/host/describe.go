package host

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Described is a stage as plugins describe shows it.
type Described struct {
	Kind         stage.Kind         `json:"kind"`
	Name         string             `json:"name"`
	Version      string             `json:"version"`
	Doc          string             `json:"doc"`
	BuiltIn      bool               `json:"built_in"`
	Path         string             `json:"path,omitempty"`
	SHA256       string             `json:"sha256,omitempty"`
	Capabilities []stage.Capability `json:"capabilities"`
	Concurrency  int                `json:"concurrency"` // calls at a time; 0 = any number
	Settings     []DescribedSetting `json:"settings"`
}

// DescribedSetting is a setting as plugins describe shows it.
type DescribedSetting struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"` // number, integer or text
	Default string   `json:"default"`
	Min     *float64 `json:"min,omitempty"` // none = no bound
	Max     *float64 `json:"max,omitempty"`
	Choices []string `json:"choices,omitempty"`
	Doc     string   `json:"doc"`

	allowed string
}

// Describe says what is known of the stage.
func (s Found) Describe() *Described {
	d := &Described{Kind: s.Kind, Name: s.Name, Version: s.Version, Doc: s.Doc, BuiltIn: s.Program == nil,
		Capabilities: append([]stage.Capability{}, s.Capabilities...), Concurrency: s.Concurrency, Settings: []DescribedSetting{}}
	if s.Program != nil {
		d.Path, d.SHA256 = s.Program.Path, s.Program.SHA256
	}
	for i := range s.Settings {
		x := &s.Settings[i]
		one := DescribedSetting{Name: x.Name, Type: "text", Default: x.Default, Choices: x.Choices, Doc: x.Doc, allowed: x.Allowed()}
		one.Min, one.Max = x.Bounds()
		if !x.Text {
			one.Type = "number"
			if x.Whole {
				one.Type = "integer"
			}
		}
		d.Settings = append(d.Settings, one)
	}
	return d
}

// Write prints the stage for a person.
func (d *Described) Write(w io.Writer) error {
	var sb strings.Builder
	fmt.Fprintf(&sb, "%s %s %s: %s\n", d.Kind, d.Name, d.Version, d.Doc)
	from := "built in"
	if !d.BuiltIn {
		from = fmt.Sprintf("%s, SHA-256 %s", d.Path, d.SHA256)
	}
	fmt.Fprintf(&sb, "program       %s\n", from)
	var promises []string
	for _, c := range d.Capabilities {
		promises = append(promises, string(c))
	}
	fmt.Fprintf(&sb, "capabilities  %s\n", cmp.Or(strings.Join(promises, ", "), "-"))
	calls := "any number at a time"
	if d.Concurrency > 0 {
		calls = fmt.Sprintf("%d at a time", d.Concurrency)
	}
	fmt.Fprintf(&sb, "calls         %s\n", calls)
	if len(d.Settings) == 0 {
		sb.WriteString("settings      none\n")
	}
	for _, s := range d.Settings {
		fmt.Fprintf(&sb, "  %s: %s\n      %s; default %s\n", s.Name, s.Doc, s.allowed, cmp.Or(s.Default, "none"))
	}
	_, err := io.WriteString(w, sb.String())
	return err
}
