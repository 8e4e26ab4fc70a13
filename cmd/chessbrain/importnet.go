package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/tools"
)

func newImportNet() *cobra.Command {
	var out string
	var asJSON bool
	c := &cobra.Command{
		Use:   "import-net FILE.pb.gz --out FILE.safetensors",
		Short: "Make a net file of ours from a net of Leela's",
		Long: `Reads a network file of Leela Chess Zero and writes it as safetensors, for train
--net, match, uci and all others. Known are residual towers with or without
squeeze-and-excitation, ReLU or mish, with convolutional or classical policy, WDL
or scalar value, moves left or none, of input format 1 (112 planes); not known are
attention nets. The content says what the file is, not its name.

What the file says of license and training steps becomes metadata. Weights of
plane 109 are multiplied by 99: our nets see rule50/99. A file without batch norm
becomes one whose batch norm changes nothing.`,
		Example: `  chessbrain import-net 128x10.pb.gz --out 128x10.safetensors
  chessbrain probe --net 128x10.safetensors --position startpos`,
		Args: oneNet,
		RunE: func(c *cobra.Command, args []string) error {
			return convertNet(c, args[0], out, &tools.NetWriter{Format: "safetensors"}, asJSON)
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "", "file to write")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return c
}

// oneNet wants one argument, a net.
func oneNet(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s: name one net, got %d arguments; want %s", c.CommandPath(), len(args), tools.NetForms)
	}
	return nil
}

// openNet reads the net that a description means.
func openNet(spec string) (*tools.Net, error) {
	n, err := tools.OpenNet(spec, tools.NetForms)
	return n, pathError(err)
}

// checkOut refuses a path that cannot be written, before work is done for it.
func checkOut(path string) error {
	if path == "" {
		return usagef("--out: name a file")
	}
	return canCreate("out", path)
}

// canCreate refuses the path of a flag that cannot be written.
func canCreate(flag, path string) error {
	if err := fsx.CanCreate(path); err != nil {
		return pathError(fmt.Errorf("--%s: %w", flag, err))
	}
	return nil
}

// convertNet reads a net, writes it and says so.
func convertNet(c *cobra.Command, spec, out string, w *tools.NetWriter, asJSON bool) error {
	if err := checkOut(out); err != nil {
		return err
	}
	n, err := openNet(spec)
	if err != nil {
		return err
	}
	return writeNet(c, n, out, w, asJSON)
}

// writeNet writes a net and says so.
func writeNet(c *cobra.Command, n *tools.Net, out string, w *tools.NetWriter, asJSON bool) error {
	if err := w.Write(out, n); err != nil {
		return pathError(err)
	}
	r := struct {
		From    string  `json:"from"`
		Out     string  `json:"out"`
		Format  string  `json:"format"`
		Arch    nn.Arch `json:"arch"`
		NetID   string  `json:"net_id"` // of the net that was read
		Step    string  `json:"step,omitempty"`
		License string  `json:"license,omitempty"`
	}{n.Name, out, w.Format, n.Arch, n.ID(), n.Meta[setup.MetaStep], n.Meta[setup.MetaLicense]}
	return answerf(c, asJSON, r, "%s -> %s (%s)\nnet %s\nid %s\n", r.From, r.Out, r.Format, n.Arch.Summary(), r.NetID)
}
