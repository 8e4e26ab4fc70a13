package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Found is a stage that can be chosen.
type Found struct {
	*stage.Definition
	Program *Program // nil = built in
}

// FindStages returns the stages of a name, at most one of a kind; path says which
// program is meant, "" = whichever is found. kind "" = any.
func (h *Host) FindStages(ctx context.Context, kind stage.Kind, name, path string) ([]Found, error) {
	programs, err := scan(h.o.Dirs) // what is wrong with another program is not asked
	if err != nil {
		return nil, err
	}
	var found []Found
	for _, p := range programs {
		if p.Name != name || path != "" && p.Path != path {
			continue
		}
		if p.SHA256, err = hashProgram(p.Path); err != nil {
			return nil, refused(p.Name, err)
		}
		d, err := h.Describe(ctx, p)
		if err != nil {
			return nil, err
		}
		found = append(found, Found{d, &p})
	}
	if path != "" && len(found) == 0 {
		return nil, mark(ErrUnknown, fmt.Errorf("%s is no program: want an executable file that is not hidden, the only one of its name, or a directory with an executable file plugin in it", path))
	}
	for _, d := range h.o.Builtin {
		hidden := slices.ContainsFunc(found, func(f Found) bool { return f.Kind == d.Kind })
		if d.Name == name && path == "" && !hidden {
			found = append(found, Found{d, nil})
		}
	}
	found = slices.DeleteFunc(found, func(f Found) bool { return kind != "" && f.Kind != kind })
	if len(found) == 0 {
		return nil, fmt.Errorf("%w; a path, such as ./mine, names a program too", h.unknown(kind, name, programs))
	}
	return found, nil
}

// ProgramName is the name of the program at a path: that of the directory, or of
// the file without extension.
func ProgramName(path string) (string, error) {
	_, err := os.Stat(path)
	return nameOf(path), err
}

// Listed is a line of plugins list.
type Listed struct {
	Kind    stage.Kind `json:"kind,omitempty"` // "" = a program, which is not asked
	Name    string     `json:"name"`
	Version string     `json:"version,omitempty"`
	Doc     string     `json:"doc,omitempty"`
	BuiltIn bool       `json:"built_in"`
	Path    string     `json:"path,omitempty"`
	SHA256  string     `json:"sha256,omitempty"`
	Lock    string     `json:"lock,omitempty"`  // LockYes, LockChanged, LockNo; "" = there is no lock file
	Error   string     `json:"error,omitempty"` // why the program may not run, or is none
	Hides   bool       `json:"hides,omitempty"` // a built-in stage of the same name, where the kind is the same too
}

// List looks at all programs and starts none. lock, which each is held against, may be
// nil. failed names the programs that may not run. What is none has its line, too.
func (h *Host) List(lock *Lock) (lines []Listed, failed error) {
	for _, d := range h.o.Builtin {
		lines = append(lines, Listed{Kind: d.Kind, Name: d.Name, Version: d.Version, Doc: d.Doc, BuiltIn: true})
	}
	programs, failed := h.Programs()
	bad := 0
	for _, p := range programs {
		line := Listed{Name: p.Name, Path: p.Path, SHA256: p.SHA256, Lock: lock.State(p)}
		if err := lock.Check(p); err != nil {
			line.Error = err.Error()
			bad++
		}
		line.Hides = slices.ContainsFunc(h.o.Builtin, func(d *stage.Definition) bool { return d.Name == p.Name })
		lines = append(lines, line)
	}
	lines = append(lines, h.passedOver()...)
	if bad > 0 {
		failed = errors.Join(failed, fmt.Errorf("%d of %d programs cannot be used; each is listed with its fault", bad, len(programs)))
	}
	return lines, failed
}

// WriteList prints a list for a person.
func WriteList(out io.Writer, lines []Listed) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KIND\tNAME\tVERSION\tLOCK\tSHA-256\tPROGRAM")
	for _, l := range lines {
		from := cmp.Or(l.Path, "built in")
		if l.Hides {
			from += " (in place of the built-in one, if it is of its kind)"
		}
		if l.Error != "" {
			from += ": " + l.Error
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.12s\t%s\n",
			cmp.Or(l.Kind, "-"), l.Name, cmp.Or(l.Version, "-"), cmp.Or(l.Lock, "-"), cmp.Or(l.SHA256, "-"), from)
	}
	return w.Flush()
}

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
	for _, x := range s.Settings {
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
