package main

import (
	"errors"

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
			k, err := stage.ParseKind(kind)
			if err != nil {
				return usagef("--kind: %w", err)
			}
			h, found, err := f.openStage(c, k, args[0])
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, h.Close()) }()
			for _, s := range found {
				if err := answer(c, asJSON, s.Describe()); err != nil {
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
