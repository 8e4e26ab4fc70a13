package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/setup"
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
			return convertNet(c.OutOrStdout(), args[0], out, &netWriter{format: "safetensors"}, asJSON)
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "", "file to write")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return c
}

// oneNet wants one argument, a net.
func oneNet(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s: name one net, got %d arguments; want %s", c.CommandPath(), len(args), netForms)
	}
	return nil
}

// netReport says what a net file came to.
type netReport struct {
	From    string  `json:"from"`
	Out     string  `json:"out"`
	Format  string  `json:"format"`
	Arch    nn.Arch `json:"arch"`
	NetID   string  `json:"net_id"` // of the net that was read
	Step    string  `json:"step,omitempty"`
	License string  `json:"license,omitempty"`
}

// convertNet reads a net, writes it and says so.
func convertNet(w io.Writer, spec, out string, writer *netWriter, asJSON bool) error {
	if err := checkOut(out); err != nil {
		return err
	}
	n, err := openNet(spec)
	if err != nil {
		return err
	}
	return n.convert(w, out, writer, asJSON)
}

// convert writes the net and says so.
func (n *anyNet) convert(w io.Writer, out string, writer *netWriter, asJSON bool) error {
	if err := writer.write(out, n); err != nil {
		return err
	}
	r := netReport{n.name, out, writer.format, n.Arch, n.ID(), n.meta[setup.MetaStep], n.meta[setup.MetaLicense]}
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	_, err := fmt.Fprintf(w, "%s -> %s (%s)\nnet %s\nid %s\n", r.From, r.Out, r.Format, n.Arch.Summary(), r.NetID)
	return err
}
