package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

func newPluginsDescribe() *cobra.Command {
	var f pluginFlags
	var kind string
	var asJSON bool
	c := &cobra.Command{
		Use:   "describe NAME | PATH",
		Short: "Show what a stage does, and its settings with defaults and ranges",
		Long: `Shows a stage's version, what it does and promises, and each of its settings with
the default and what is allowed. PATH is a program; it has a / in it, such as
./mine. Stages of different kinds may share a name: all of them are shown.`,
		Example: "  chessbrain plugins describe deblunder\n  chessbrain plugins describe ./mine --json",
		Args:    stageArg,
		RunE: func(c *cobra.Command, args []string) (err error) {
			k, err := kindOf(kind)
			if err != nil {
				return usagef("--kind: %w", err)
			}
			h, found, err := f.openStage(c, k, args[0])
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, h.Close()) }()
			for _, s := range found {
				d := describeStage(s)
				if asJSON {
					err = json.NewEncoder(c.OutOrStdout()).Encode(&d)
				} else {
					err = d.write(c.OutOrStdout())
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	f.bind(c)
	c.Flags().StringVar(&kind, "kind", "", "only that kind: rescorer, sampler or exporter")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a stage")
	return c
}

// describedStage is a stage as plugins describe shows it.
type describedStage struct {
	Kind         stage.Kind         `json:"kind"`
	Name         string             `json:"name"`
	Version      string             `json:"version"`
	Doc          string             `json:"doc"`
	BuiltIn      bool               `json:"built_in"`
	Path         string             `json:"path,omitempty"`
	SHA256       string             `json:"sha256,omitempty"`
	Capabilities []stage.Capability `json:"capabilities"`
	Concurrency  int                `json:"concurrency"` // calls at a time; 0 = any number
	Settings     []describedSetting `json:"settings"`
}

// describedSetting is a setting as plugins describe shows it.
type describedSetting struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"` // number, integer or text
	Default string   `json:"default"`
	Min     *float64 `json:"min,omitempty"` // none = no bound
	Max     *float64 `json:"max,omitempty"`
	Choices []string `json:"choices,omitempty"`
	Doc     string   `json:"doc"`

	allowed string
}

func describeStage(s foundStage) describedStage {
	d := describedStage{Kind: s.Kind, Name: s.Name, Version: s.Version, Doc: s.Doc, BuiltIn: s.program == nil,
		Capabilities: append([]stage.Capability{}, s.Capabilities...), Concurrency: s.Concurrency, Settings: []describedSetting{}}
	if s.program != nil {
		d.Path, d.SHA256 = s.program.Path, s.program.SHA256
	}
	for i := range s.Settings {
		x := &s.Settings[i]
		one := describedSetting{Name: x.Name, Type: "text", Default: x.Default, Choices: x.Choices, Doc: x.Doc, allowed: x.Allowed()}
		if !x.Text {
			one.Type, one.Min, one.Max = "number", finite(x.Min), finite(x.Max)
			if x.Whole {
				one.Type = "integer"
			}
		}
		d.Settings = append(d.Settings, one)
	}
	return d
}

// finite returns x, nil where it is no bound; JSON has no infinity.
func finite(x float64) *float64 {
	if math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// write prints the stage as text.
func (d *describedStage) write(w io.Writer) error {
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
	fmt.Fprintf(&sb, "capabilities  %s\n", orDash(strings.Join(promises, ", ")))
	calls := "any number at a time"
	if d.Concurrency > 0 {
		calls = fmt.Sprintf("%d at a time", d.Concurrency)
	}
	fmt.Fprintf(&sb, "calls         %s\n", calls)
	if len(d.Settings) == 0 {
		sb.WriteString("settings      none\n")
	}
	for _, s := range d.Settings {
		fmt.Fprintf(&sb, "  %s: %s\n      %s; default %s\n", s.Name, s.Doc, s.allowed, orNone(s.Default))
	}
	_, err := io.WriteString(w, sb.String())
	return err
}

// orNone is text, or "none" where there is none.
func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
