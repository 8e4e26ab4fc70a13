package main

import (
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/lc0"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run/tools"
)

func newExportNet() *cobra.Command {
	var out, format, encoding string
	var fold bool
	var with exportWith
	c := &cobra.Command{
		Use:   "export-net NET --out FILE | --out DIR --exporter NAME",
		Short: "Write a net for Leela's engine, as ONNX, or as safetensors",
		Long: `Writes NET, ` + tools.NetForms + `, in another format:

  lc0          a .pb.gz that Leela's engine loads; encodings but linear16 from 0.33
  onnx         float32, opset 17, with the names of Leela's converter
  safetensors  our own; the net of a checkpoint, for instance

With --exporter the net goes through an exporter as in training, built in or a
program of --plugin-dir (chessbrain plugins list).`,
		Example: `  chessbrain export-net runs/chessbrain --out chessbrain.pb.gz
  chessbrain export-net runs/chessbrain --exporter npz --games runs/chessbrain/selfplay --out rows`,
		Args: oneNet,
		RunE: func(c *cobra.Command, args []string) error {
			if out == "" {
				return usagef("--out: name a file")
			}
			if with.exporter != "" {
				if name := given(c, "format", "encoding", "fold"); name != "" {
					return usagef("--%s has no meaning with --exporter; see chessbrain plugins describe %s, and --set", name, with.exporter)
				}
				return stoppable(func(c *cobra.Command, args []string) error { return with.run(c, args[0], out) })(c, args)
			}
			if name := given(c, "set", "games", "plugin-dir"); name != "" {
				return usagef("--%s has no meaning without --exporter", name)
			}
			w := &tools.NetWriter{Fold: fold}
			var err error
			if w.Format, err = tools.NetFormat(format, out); err != nil {
				return err
			}
			if name := given(c, "encoding", "fold"); name != "" && w.Format != "lc0" {
				return usagef("--%s has no meaning with format %s; leave it away", name, w.Format)
			}
			if w.Encoding, err = lc0.ParseLayerEncoding(encoding); err != nil {
				return usagef("--encoding: %w", err)
			}
			return convertNet(c, args[0], out, w)
		},
	}
	f := c.Flags()
	f.StringVarP(&out, "out", "o", "", "file to write; with --exporter a directory")
	f.StringVar(&format, "format", "", "lc0, onnx or safetensors (default: as the file's name ends)")
	f.StringVar(&encoding, "encoding", lc0.Linear16.String(), "of the weights, format lc0: "+strings.Join(lc0.EncodingNames(), ", "))
	f.BoolVar(&fold, "fold", false, "fold batch norm into the convolutions, format lc0")
	bindJSON(c, "one JSON object")
	with.bind(c)
	return c
}

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

// run exports the net that spec means into the directory out.
func (o *exportWith) run(c *cobra.Command, spec, out string) (err error) {
	settings, err := settingsOf(o.set)
	if err != nil {
		return err
	}
	h, err := o.plugins.open(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	ctx := c.Context()
	x, err := h.Exporter(ctx, stage.Choice{Name: o.exporter, Settings: settings})
	if err != nil {
		return stageError("exporter", err)
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
		checkpoint.Games = replay.DirGames(ctx, o.games, 0, 0, warnings(c))
	}
	if info, err := os.Stat(out); err == nil && !info.IsDir() {
		return usagef("--out: %s is a file; with --exporter it is a directory", out)
	}
	files, err := x.Export(ctx, checkpoint, out) // makes the directory
	if err != nil {
		return pathError(err)
	}
	r := struct {
		From     string   `json:"from"`
		Exporter string   `json:"exporter"`
		Files    []string `json:"files"`
		NetID    string   `json:"net_id"`
	}{n.Name, x.Name(), files, n.ID()}
	return answerf(c, r, "%s -> %s (%s)\nnet %s\nid %s\n", n.Name, strings.Join(files, ", "), x.Name(), n.Arch.Summary(), n.ID())
}
