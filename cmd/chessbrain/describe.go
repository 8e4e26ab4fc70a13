package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/setup"
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
				return describeNet(c.OutOrStdout(), path, net, asJSON, nil)
			}
			checkpoint, err := setup.FindCheckpoint(path)
			if err != nil {
				return pathError(err)
			}
			for _, w := range checkpoint.Warnings {
				fmt.Fprintln(c.ErrOrStderr(), "chessbrain:", w)
			}
			net, err := setup.CheckpointNet(checkpoint)
			if err != nil {
				return err
			}
			return describeNet(c.OutOrStdout(), checkpoint.Path, net, asJSON, checkpoint.Manifest)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return c
}

// describeNet prints a net, and the manifest around it where there is one.
func describeNet(w io.Writer, path string, net *nn.Net, asJSON bool, manifest any) error {
	params := 0
	for _, p := range net.Params {
		params += len(p.Data)
	}
	d := struct {
		Path       string  `json:"path"`
		Arch       nn.Arch `json:"arch"`
		Name       string  `json:"name"`
		Parameters int     `json:"parameters"`
		ID         string  `json:"net_id"`
		Manifest   any     `json:"manifest,omitempty"`
	}{path, net.Arch, net.Arch.String(), params, net.ID(), manifest}
	if asJSON {
		return json.NewEncoder(w).Encode(d)
	}
	fmt.Fprintf(w, "%s\nnet %s, %d parameters, id %s\n", d.Path, d.Name, d.Parameters, d.ID)
	if manifest != nil {
		text, err := json.MarshalIndent(manifest, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\n", text)
	}
	for _, p := range net.Params {
		low, high, mean := p.Data[0], p.Data[0], 0.0
		for _, v := range p.Data {
			low, high, mean = min(low, v), max(high, v), mean+float64(v)
		}
		if _, err := fmt.Fprintf(w, "  %-28s %-16s mean %9.5f  range %9.5f .. %9.5f\n", p.Name, fmt.Sprint(p.Shape),
			mean/float64(len(p.Data)), low, high); err != nil {
			return err
		}
	}
	return nil
}
