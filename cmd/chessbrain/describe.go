package main

import (
	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/tools"
)

func newDescribe() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "describe [RUN | CHECKPOINT | FILE]",
		Short: "Show what a checkpoint or a net file holds",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			path := runArg(args)
			if setup.NamesNet(path) {
				net, err := setup.ReadNet(path)
				if err != nil {
					return pathError(err)
				}
				return answer(c, asJSON, tools.Describe(path, net, nil))
			}
			checkpoint, err := setup.FindCheckpoint(path)
			if err != nil {
				return pathError(err)
			}
			for _, w := range checkpoint.Warnings {
				tell(c)("%s", w)
			}
			net, err := setup.CheckpointNet(checkpoint)
			if err != nil {
				return err
			}
			return answer(c, asJSON, tools.Describe(checkpoint.Path, net, checkpoint.Manifest))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return c
}
