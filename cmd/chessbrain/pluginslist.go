package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/plugins/host"
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
			return f.list(c, h, asJSON)
		},
	}
	f.bind(c)
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return c
}

// list prints what there is.
func (f *pluginFlags) list(c *cobra.Command, h *host.Host, asJSON bool) error {
	var lock *host.Lock
	if f.run != "" {
		var err error
		if lock, err = readLock(filepath.Join(f.run, run.LockFile)); err != nil {
			return err
		}
	}
	lines, bad, err := h.List(c.Context(), lock)
	if err != nil {
		return err
	}
	if asJSON {
		err = printLines(c, lines)
	} else {
		err = host.WriteList(c.OutOrStdout(), lines)
	}
	if err == nil && bad > 0 {
		programs := 0
		for i := range lines {
			if !lines[i].BuiltIn {
				programs++
			}
		}
		err = codedError{fmt.Errorf("%d of %d programs cannot be used; each is listed with its fault", bad, programs), exitPlugin}
	}
	return err
}
