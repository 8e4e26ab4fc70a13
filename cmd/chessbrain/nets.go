package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/chess/uci"
	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/typo"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/tools"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

func newImportNet() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "import-net FILE.pb.gz --out FILE.safetensors",
		Short: "Make a net file of ours from a net of Leela's",
		Long: `Reads a network file of Leela Chess Zero and writes it as safetensors, for train
--net, match, uci and all others. Known are residual towers with or without
squeeze-and-excitation and attention nets with or without smolgen, with any policy
head, WDL or scalar value, moves left or none, of input format 1 (112 planes). Of
several heads "vanilla" and "winner" play, and the net keeps the others. The content
says what the file is, not its name.

What the file says of license and training steps becomes metadata. Weights of
plane 109 are multiplied by 99: our nets see rule50/99. A file without batch norm
becomes one whose batch norm changes nothing.`,
		Example: `  chessbrain import-net 128x10.pb.gz --out 128x10.safetensors
  chessbrain probe --net 128x10.safetensors --position startpos`,
		Args: netAndOut,
		RunE: func(c *cobra.Command, args []string) error {
			return convertNet(c, args[0], out, &tools.NetWriter{Format: "safetensors"})
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "", "file to write")
	bindJSON(c, "one JSON object")
	return c
}

// oneNet wants one argument, a net.
var oneNet = exactArgs(1, "name one net, got %d arguments; want "+tools.NetForms)

// netAndOut wants oneNet and --out.
func netAndOut(c *cobra.Command, args []string) error {
	err := oneNet(c, args)
	if c.Flags().Lookup("out").Value.String() == "" {
		err = errors.Join(err, usagef("--out: name a file"))
	}
	return err
}

// openNet reads the net that a description means.
func openNet(spec string) (*tools.Net, error) { return openNetOf(spec, tools.NetForms) }

// openNetOf is openNet where the forms of a description are others.
func openNetOf(spec, forms string) (*tools.Net, error) {
	n, err := tools.OpenNet(spec, forms)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, checkpoint.ErrNoCheckpoint) {
		err = fmt.Errorf("%w%s", err, typo.Meant(spec, config.NetBuiltin))
	}
	return n, pathError(err)
}

// checkOut refuses a path that cannot be written, before work is done for it.
func checkOut(path string) error {
	if path == "" {
		return usagef("--out: name a file")
	}
	if m, err := checkpoint.ReadManifest(fsx.OS, filepath.Dir(fsx.RealPath(path))); err == nil {
		return usagef("--out: %s lies in the checkpoint %s, which would be damaged; name another file", path, m.Name)
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

// notRead refuses to write over a file that is read: a net, with or without its heads, or
// another; "" = none.
func notRead(flag, out string, read ...string) error {
	for _, spec := range read {
		if path, _, _ := config.NetPath(spec); path != "" && fsx.SameFile(path, out) {
			return usagef("--%s: %s is a file that is read; name another one", flag, out)
		}
	}
	return nil
}

// convertNet reads a net, writes it and says so.
func convertNet(c *cobra.Command, spec, out string, w *tools.NetWriter) error {
	if err := cmp.Or(checkOut(out), notRead("out", out, spec)); err != nil {
		return err
	}
	n, err := openNet(spec)
	if err != nil {
		return err
	}
	return writeNet(c, n, out, w)
}

// writeNet writes a net and says so.
func writeNet(c *cobra.Command, n *tools.Net, out string, w *tools.NetWriter) error {
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
		Left    string  `json:"other_heads,omitempty"` // of the file, which the net does not have
	}{n.Name, out, w.Format, n.Arch, n.ID(), n.Meta[setup.MetaStep], n.Meta[setup.MetaLicense], n.Meta[setup.MetaOtherHeads]}
	left := ""
	if r.Left != "" {
		left = "left out: " + r.Left + "\n"
	}
	return answerf(c, r, "%s -> %s (%s)\nnet %s\nid %s\n%s", r.From, r.Out, r.Format, n.Arch.Summary(), r.NetID, left)
}

func newNetMath() *cobra.Command {
	var out, format string
	var specs []string
	c := &cobra.Command{
		Use:   "net-math EXPRESSION --net NAME=NET... --out FILE",
		Short: "Add and scale the weights of nets: 'A*0.5 + B*0.5'",
		Long: `Computes a net whose every number is the expression of those of other nets of one
architecture: averages of checkpoints, steps between two nets. The expression has
names of nets, numbers, + - * / and parentheses; nets are added to nets, and
multiplied and divided by numbers. The sum is made in float64.

Running means and variances of batch norm are summed like weights, which is right
for nets that are close to each other. A result with a number that is not finite,
or with a negative variance, is refused.

NET is ` + tools.NetForms + `.`,
		Example: `  chessbrain net-math 'A*0.5 + B*0.5' --net A=runs/a@1000 --net B=runs/a@2000 --out mean.safetensors
  chessbrain net-math 'new + (new - old)/2' --net new=n.pb.gz --net old=o.pb.gz --out ahead.pb.gz`,
		Args: exactArgs(1, "give one expression, in quotes, such as 'A*0.5 + B*0.5'; got %d arguments"),
		RunE: func(c *cobra.Command, args []string) error {
			w, err := writerOf(format, out)
			if err != nil {
				return err
			}
			factors, err := nn.ParseExpr(args[0])
			if err != nil {
				return usageError{err}
			}
			for _, named := range specs {
				_, spec, _ := strings.Cut(named, "=")
				if err := notRead("out", out, spec); err != nil {
					return err
				}
			}
			nets, err := openNets(specs, factors)
			if err != nil {
				return err
			}
			net, err := nn.Mix(nets, factors)
			if errors.Is(err, nn.ErrMix) {
				return usageError{err}
			}
			if err != nil {
				return err
			}
			result := &tools.Net{Net: net, Name: args[0], Meta: map[string]string{"expression": args[0]}}
			return writeNet(c, result, out, w)
		},
	}
	f := c.Flags()
	f.StringVarP(&out, "out", "o", "", "file to write")
	f.StringVar(&format, "format", "", "lc0, onnx or safetensors (default: as the file's name ends)")
	f.StringArrayVar(&specs, "net", nil, "NAME=NET, once for each name of the expression")
	bindJSON(c, "one JSON object")
	return c
}

// writerOf checks --out and --format, before nets are read.
func writerOf(format, out string) (*tools.NetWriter, error) {
	if err := checkOut(out); err != nil {
		return nil, err
	}
	format, err := tools.NetFormat(format, out)
	return &tools.NetWriter{Format: format, Encoding: lc0.Linear16}, err
}

// openNets reads the nets of --net: those that the expression names, each once.
func openNets(specs []string, factors map[string]float64) (map[string]*nn.Net, error) {
	paths := map[string]string{}
	for _, s := range specs {
		name, path, ok := strings.Cut(s, "=")
		_, named := factors[name]
		switch {
		case !ok || path == "":
			return nil, usagef("--net %s: want NAME=NET, as in A=net.safetensors", s)
		case paths[name] != "":
			return nil, usagef("--net %s: %s is given twice", s, name)
		case !named:
			return nil, usagef("--net %s: the expression does not name %s", s, name)
		}
		paths[name] = path
	}
	nets := map[string]*nn.Net{}
	for _, name := range slices.Sorted(maps.Keys(factors)) {
		if paths[name] == "" {
			return nil, usagef("the expression names %s; say with --net %s=NET which it is", name, name)
		}
		n, err := openNet(paths[name])
		if err != nil {
			return nil, fmt.Errorf("--net %s: %w", name, err)
		}
		nets[name] = n.Net
	}
	return nets, nil
}

func newProbe() *cobra.Command {
	var spec, position, device string
	c := &cobra.Command{
		Use:   "probe --net NET --position POSITION",
		Short: "Show what a net says of a position: value, moves left, policy",
		Long: `Asks a net about one position, in fp32 and without a search: V = W - L in [-1,1], the
probabilities of win, draw and loss, the plies left (M), and each legal move with
its policy index (0..1857) and probability. All from the side to move's view;
moves in UCI notation.

NET is ` + tools.NetForms + `.
POSITION is what UCI's position command takes: startpos [moves ...] or fen FEN
[moves ...]. The moves are the history that the net sees.`,
		Example: `  chessbrain probe --net runs/chessbrain --position 'startpos moves e2e4 c7c5'
  chessbrain probe --net leela.pb.gz --position 'fen 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1' --json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if spec == "" {
				return usagef("--net: name a net: %s", tools.NetForms)
			}
			history, err := uci.ParsePosition(strings.Fields(position))
			if err != nil {
				return usagef("--position: %w", err)
			}
			cfg, err := playDevice(c, device, kernel.FP32.String())
			if err != nil {
				return err
			}
			net, err := openNet(spec)
			if err != nil {
				return fmt.Errorf("--net: %w", err)
			}
			said, err := tools.Probe(c.Context(), cfg, net, history)
			if err != nil {
				return err
			}
			return answer(c, said)
		},
	}
	f := c.Flags()
	f.StringVar(&spec, "net", "", "the net")
	f.StringVar(&position, "position", "startpos", "startpos or fen FEN, and moves")
	bindJSON(c, "one JSON object")
	bindPlayDevice(c, &device, "cpu", nil)
	return c
}

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
  chessbrain export-net runs/chessbrain --exporter npz --out rows`,
		Args: netAndOut,
		RunE: func(c *cobra.Command, args []string) error {
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
	c.Flags().StringVar(&o.games, "games", "", "directory of *.games for exporters that need games (default: that of the run)")
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
	} else if n.Run != "" {
		o.games = run.Dir{Root: n.Run}.Selfplay()
	}
	if o.games != "" {
		checkpoint.Games = replay.DirGames(ctx, o.games, 0, 0, warnings(c))
	}
	if info, err := os.Stat(out); err == nil && !info.IsDir() {
		return usagef("--out: %s is a file; with --exporter it is a directory", out)
	}
	file, _, _ := config.NetPath(spec)
	for _, path := range []string{file, fsx.RealPath(file)} { // what an exporter names its files, it alone knows
		if fsx.IsFile(path) && fsx.SameFile(filepath.Dir(path), out) {
			return usagef("--out: %s has the net that is read, which the exporter may write over; name another directory", out)
		}
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
