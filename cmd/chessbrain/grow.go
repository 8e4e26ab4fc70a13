package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/tools"
)

// metaGrown is the metadata of a grown net: what it was made of.
const metaGrown = "grown"

func newGrow() *cobra.Command {
	var to, out, format string
	var seed uint64
	c := &cobra.Command{
		Use:   "grow NET --net ARCH --out FILE",
		Short: "Make a wider or deeper net that gives the same answers",
		Long: `Makes a net of architecture ARCH that computes what NET computes, within rounding. A
tower gets more filters and blocks, a sparse net more accumulators and units. ARCH is a
name, or JSON as export-net --json prints it. It keeps NET's kinds of blocks and heads
and has no less of anything. Mish nets grow in width alone, attention nets not at all.
New weights are random and without effect until training uses them:
chessbrain new RUN --net FILE.

NET is ` + tools.NetForms + `.`,
		Example: "  chessbrain grow runs/a --net 128x10 --out big.safetensors",
		Args:    oneNet,
		RunE: func(c *cobra.Command, args []string) error {
			w, err := writerOf(format, out)
			if err != nil {
				return err
			}
			if err := notRead("out", out, args[0]); err != nil {
				return err
			}
			arch, err := namedArch(to)
			if err != nil {
				return err
			}
			n, err := openNet(args[0])
			if err != nil {
				return err
			}
			grown, err := nn.Grow(n.Net, arch, seed)
			if errors.Is(err, nn.ErrArch) {
				return usagef("--net: %w", err)
			}
			if err != nil {
				return err
			}
			meta := map[string]string{metaGrown: fmt.Sprintf("from %s, a net %s of id %s, by seed %d", n.Name, n.Arch, n.ID(), seed)}
			for _, key := range []string{setup.MetaSearch, setup.MetaLicense} { // name and step are not the grown net's
				if text, ok := n.Meta[key]; ok {
					meta[key] = text
				}
			}
			return writeNet(c, &tools.Net{Net: grown, Name: n.Name, Meta: meta}, out, w)
		},
	}
	f := c.Flags()
	f.StringVar(&to, "net", "", "architecture to grow to, such as 128x10 or sparse256")
	f.StringVarP(&out, "out", "o", "", "file to write")
	f.StringVar(&format, "format", "", "lc0, onnx or safetensors (default: as the file's name ends)")
	f.Uint64Var(&seed, "seed", 7, "of the new weights")
	bindJSON(c, "one JSON object")
	return c
}

// namedArch reads the architecture of --net.
func namedArch(text string) (a nn.Arch, err error) {
	switch {
	case text == "":
		return a, usagef("--net: name the architecture to grow to, such as 128x10")
	case strings.HasPrefix(text, "{"):
		if err = json.Unmarshal([]byte(text), &a); err == nil {
			err = a.Validate()
		}
	default:
		a, err = nn.ParseArch(text)
	}
	if err != nil {
		return a, usagef("--net: %v", err) // not %w: JSON's errors are those of damaged files
	}
	return a, nil
}
