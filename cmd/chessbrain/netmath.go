package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/lc0"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/tools"
)

func newNetMath() *cobra.Command {
	var out, format string
	var specs []string
	var asJSON bool
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
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s: give one expression, in quotes, such as 'A*0.5 + B*0.5'; got %d arguments", c.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			w, err := writerOf(format, out)
			if err != nil {
				return err
			}
			factors, err := nn.ParseExpr(args[0])
			if err != nil {
				return usageError{err}
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
			return writeNet(c, result, out, w, asJSON)
		},
	}
	f := c.Flags()
	f.StringVarP(&out, "out", "o", "", "file to write")
	f.StringVar(&format, "format", "", "lc0, onnx or safetensors (default: as the file's name ends)")
	f.StringArrayVar(&specs, "net", nil, "NAME=NET, once for each name of the expression")
	f.BoolVar(&asJSON, "json", false, "one JSON object")
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
