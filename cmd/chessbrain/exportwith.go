package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay"
)

// exportWith are the flags of export-net that are for an exporter chosen by name.
type exportWith struct {
	plugins  pluginFlags
	exporter string
	set      []string
	games    string
}

func (o *exportWith) bind(c *cobra.Command) {
	c.Flags().StringVar(&o.exporter, "exporter", "", "write what this exporter writes, built in or a program; --out is a directory then")
	c.Flags().StringArrayVar(&o.set, "set", nil, "a setting of the exporter, SETTING=VALUE; may come several times")
	c.Flags().StringVar(&o.games, "games", "", "directory of *.games for exporters that need games")
	o.plugins.bindDirs(c)
}

// given returns a flag that has no meaning without --exporter, or "".
func (o *exportWith) given(c *cobra.Command) string {
	for _, name := range []string{"set", "games", "plugin-dir"} {
		if c.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

// run exports the net that spec means into the directory out.
func (o *exportWith) run(c *cobra.Command, spec, out string, asJSON bool) (err error) {
	settings, err := settingsOf(o.set)
	if err != nil {
		return err
	}
	h, err := o.plugins.open(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	ctx, stop := stoppable(c)
	defer stop()
	x, err := h.Exporter(ctx, stage.Choice{Name: o.exporter, Settings: settings})
	if err != nil {
		err = fmt.Errorf("--exporter, --set: %w", err)
		if !as[*host.Error](err) {
			err = usageError{err}
		}
		return err
	}
	n, err := openNet(spec)
	if err != nil {
		return err
	}
	checkpoint, err := n.Checkpoint()
	if err != nil {
		return err
	}
	if o.games != "" {
		if _, err := os.Stat(o.games); err != nil {
			return usagef("--games: %w", err)
		}
		checkpoint.Games = replay.DirGames(ctx, o.games, 0, 0, pluginLog(c))
	}
	if info, err := os.Stat(out); err == nil && !info.IsDir() {
		return usagef("--out: %s is a file; with --exporter it is a directory", out)
	}
	files, err := x.Export(ctx, checkpoint, out) // makes the directory
	if err != nil {
		return orStopped(ctx, pathError(err))
	}
	r := struct {
		From     string   `json:"from"`
		Exporter string   `json:"exporter"`
		Files    []string `json:"files"`
		NetID    string   `json:"net_id"`
	}{n.Name, x.Name(), files, n.ID()}
	return answerf(c, asJSON, r, "%s -> %s (%s)\nnet %s\nid %s\n", n.Name, strings.Join(files, ", "), x.Name(), n.Arch.Summary(), n.ID())
}
