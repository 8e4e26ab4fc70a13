package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run"
)

func newPluginsList() *cobra.Command {
	var f pluginFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the built-in stages and the programs that are found",
		Long: `Lists the built-in stages and the programs that are found, each with its kind,
version, and how it stands to the run's ` + run.LockFile + `: locked, changed (another
SHA-256), or not locked. Each program is started to ask it what it is, unless the lock
forbids that; one that fails is listed with its fault, and the exit code is 4.`,
		Example: "  chessbrain plugins list --run-dir runs/a\n  chessbrain plugins list --plugin-dir bin/plugins --json",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			h, err := f.open(c)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, h.Close()) }()
			lines, failed, err := f.list(c, h)
			if err != nil {
				return err
			}
			if err := writeStages(c.OutOrStdout(), lines, asJSON); err != nil {
				return err
			}
			return failed
		},
	}
	f.bind(c)
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return c
}

// listedStage is a line of plugins list.
type listedStage struct {
	Kind    stage.Kind `json:"kind,omitempty"` // "" = the program did not say
	Name    string     `json:"name"`
	Version string     `json:"version,omitempty"`
	Doc     string     `json:"doc,omitempty"`
	BuiltIn bool       `json:"built_in"`
	Path    string     `json:"path,omitempty"`
	SHA256  string     `json:"sha256,omitempty"`
	Lock    string     `json:"lock,omitempty"`  // lockYes, lockChanged, lockNo; "" = there is no lock file
	Error   string     `json:"error,omitempty"` // why the program cannot be used
	Hides   bool       `json:"hides,omitempty"` // a built-in stage of the same kind and name
}

// list asks every program what it is. failed is the fault of those that did not
// say.
func (f *pluginFlags) list(c *cobra.Command, h *host.Host) (lines []listedStage, failed, err error) {
	for _, d := range builtins() {
		lines = append(lines, listedStage{Kind: d.Kind, Name: d.Name, Version: d.Version, Doc: d.Doc, BuiltIn: true})
	}
	programs, err := h.Programs()
	if err != nil {
		return nil, nil, err
	}
	var lock *host.Lock
	if f.run != "" {
		if lock, err = readLock(filepath.Join(f.run, run.LockFile)); err != nil {
			return nil, nil, err
		}
	}
	bad := 0
	for _, p := range programs {
		line := listedStage{Name: p.Name, Path: p.Path, SHA256: p.SHA256, Lock: lockState(lock, p)}
		d, err := h.Describe(c.Context(), p)
		if err != nil {
			line.Error = err.Error()
			bad++
		} else {
			line.Kind, line.Name, line.Version, line.Doc = d.Kind, d.Name, d.Version, d.Doc
			_, none := stage.Find(builtins(), d.Kind, d.Name)
			line.Hides = none == nil
		}
		lines = append(lines, line)
	}
	if bad > 0 {
		failed = codedError{fmt.Errorf("%d of %d programs cannot be used; each is listed with its fault", bad, len(programs)), exitPlugin}
	}
	return lines, failed, nil
}

// writeStages prints a list.
func writeStages(out io.Writer, lines []listedStage, asJSON bool) error {
	if asJSON {
		for i := range lines {
			if err := json.NewEncoder(out).Encode(&lines[i]); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KIND\tNAME\tVERSION\tLOCK\tSHA-256\tPROGRAM")
	for _, l := range lines {
		from := l.Path
		if l.BuiltIn {
			from = "built in"
		}
		if l.Hides {
			from += " (in place of the built-in one)"
		}
		if l.Error != "" {
			from += ": " + l.Error
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.12s\t%s\n", orDash(string(l.Kind)), l.Name, orDash(l.Version), orDash(l.Lock), orDash(l.SHA256), from)
	}
	return w.Flush()
}

// orDash is text, or "-" where there is none.
func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
