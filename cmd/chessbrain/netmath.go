package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/lc0"
	"github.com/chessbrain/chessbrain/nn"
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

NET is ` + netForms + `.`,
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
			factors, err := parseNetExpr(args[0])
			if err != nil {
				return usageError{err}
			}
			nets, err := openNets(specs, factors)
			if err != nil {
				return err
			}
			net, err := combine(nets, factors)
			if err != nil {
				return err
			}
			result := &anyNet{net, args[0], map[string]string{"expression": args[0]}}
			return result.convert(c.OutOrStdout(), out, w, asJSON)
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
func writerOf(format, out string) (*netWriter, error) {
	if err := checkOut(out); err != nil {
		return nil, err
	}
	format, err := formatOf(format, out)
	return &netWriter{format: format, encoding: lc0.Linear16}, err
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

// combine returns the sum of nets times their factors, summed in float64 in the
// order of the names. All must have one architecture, and the sum must be finite.
func combine(nets map[string]*nn.Net, factors map[string]float64) (*nn.Net, error) {
	names := slices.Sorted(maps.Keys(nets))
	first := nets[names[0]]
	for _, name := range names[1:] {
		if nets[name].Arch != first.Arch {
			return nil, usagef("%s is a net %+v, %s is %+v: they must have one architecture", names[0], first.Arch, name, nets[name].Arch)
		}
	}
	out := first.Clone()
	for i := range out.Params {
		for j := range out.Params[i].Data {
			sum := 0.0
			for _, name := range names {
				sum += factors[name] * float64(nets[name].Params[i].Data[j])
			}
			out.Params[i].Data[j] = float32(sum)
		}
	}
	if err := out.CheckFinite(); err != nil {
		return nil, fmt.Errorf("the result is no net: %w; choose other factors", err)
	}
	return out, nil
}
