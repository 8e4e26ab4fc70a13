package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/lc0"
	"github.com/chessbrain/chessbrain/run/tools"
)

func newExportNet() *cobra.Command {
	var out, format, encoding string
	var fold, asJSON bool
	var with exportWith
	c := &cobra.Command{
		Use:   "export-net NET --out FILE | --out DIR --exporter NAME",
		Short: "Write a net for Leela's engine, as ONNX, or as safetensors",
		Long: `Writes a net in another format. NET is ` + tools.NetForms + `.

  lc0          a .pb.gz that Leela's engine loads. Weights are linear16 (all
               engines), float16, bfloat16 or float32 (from 0.33). Batch norm is
               kept, so that the net can be trained on; --fold leaves only the
               convolutions that it comes to.
  onnx         a float32 model of opset 17 with the names of Leela's converter:
               /input/planes [batch,112,8,8], plane 109 in plies; /output/policy
               (1858 logits), /output/wdl (or /output/value), /output/mlh
  safetensors  our own; the net of a checkpoint, for instance

Without --format the end of the name says it: .pb.gz, .onnx or .safetensors.

With --exporter the net goes through an exporter as in training, built in or a
program of --plugin-dir (chessbrain plugins list), which writes into the directory
--out; one that needs games takes those of --games.`,
		Example: `  chessbrain export-net runs/chessbrain --out chessbrain.pb.gz
  chessbrain export-net runs/chessbrain@2000 --format onnx --out chessbrain.onnx
  chessbrain export-net runs/chessbrain --exporter npz --games runs/chessbrain/selfplay --out rows`,
		Args: oneNet,
		RunE: func(c *cobra.Command, args []string) error {
			if out == "" {
				return usagef("--out: name a file")
			}
			if with.exporter != "" {
				for _, name := range []string{"format", "encoding", "fold"} {
					if c.Flags().Changed(name) {
						return usagef("--%s has no meaning with --exporter; see chessbrain plugins describe %s, and --set", name, with.exporter)
					}
				}
				return with.run(c, args[0], out, asJSON)
			}
			if name := with.given(c); name != "" {
				return usagef("--%s has no meaning without --exporter", name)
			}
			w := &tools.NetWriter{Fold: fold}
			var err error
			if w.Format, err = tools.NetFormat(format, out); err != nil {
				return err
			}
			for _, name := range []string{"encoding", "fold"} {
				if w.Format != "lc0" && c.Flags().Changed(name) {
					return usagef("--%s has no meaning with format %s; leave it away", name, w.Format)
				}
			}
			if w.Encoding, err = lc0.ParseLayerEncoding(encoding); err != nil {
				return usagef("--encoding: %w", err)
			}
			return convertNet(c, args[0], out, w, asJSON)
		},
	}
	f := c.Flags()
	f.StringVarP(&out, "out", "o", "", "file to write; with --exporter a directory")
	f.StringVar(&format, "format", "", "lc0, onnx or safetensors (default: as the file's name ends)")
	f.StringVar(&encoding, "encoding", lc0.Linear16.String(), "of the weights, format lc0: "+strings.Join(lc0.EncodingNames(), ", "))
	f.BoolVar(&fold, "fold", false, "fold batch norm into the convolutions, format lc0")
	f.BoolVar(&asJSON, "json", false, "one JSON object")
	with.bind(c)
	return c
}
