package main

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/run/setup"
)

func newPluginsList() *cobra.Command {
	var f pluginFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the built-in stages and the programs that are found",
		Long: `Lists the built-in stages with kind and version, and the programs that are found with
their SHA-256 and how they stand to the run's ` + setup.LockFile + `: locked, changed (another
SHA-256), or not locked. No program is started, so the list has neither the kind nor
the version of one: chessbrain plugins describe NAME starts it and asks. The exit code
is 4 where a program may not run.`,
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
		if lock, err = readLock(filepath.Join(f.run, setup.LockFile)); err != nil {
			return err
		}
	}
	lines, failed := h.List(lock)
	if failed != nil {
		failed = codedError{failed, exitPlugin}
	}
	if asJSON {
		return errors.Join(printLines(c, lines), failed)
	}
	return errors.Join(host.WriteList(c.OutOrStdout(), lines), failed)
}
