// Command gen writes the assembly kernels of package kernel: kernels_amd64.s,
// their stubs, the argument structs and a list of all entries for the tests. Run it by go generate in nn/kernel; the
// output is committed and must be reproduced byte for byte.
package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/build"

	"github.com/chessbrain/chessbrain/nn/kernel/gen/args"
)

func main() { args.Main("gen", run) }

// entries lists the emitted functions over an argument struct in order.
var entries []args.Entry

func run(dir string) error {
	build.ConstraintExpr("amd64")
	genMathConstants()
	for _, v := range []isa{avx512, avx2} {
		genGemm(v)
		genWeightGrad(v)
		genAffine(v)
		genColumnSums(v)
		genFlat(v)
		genOptimizers(v)
		genActivations(v)
		genReductions(v)
		genLayerNorm(v)
		genExpand(v)
		for _, pr := range v.products {
			genPolicy(v, pr)
		}
		genSparse(v)
		genTranspose(v)
		genPeak(v, fp32, 12, "multiply-adds")
		genPoints(v)
		genWinograd(v)
	}
	genPeak(avx512, bf16, 24, "products of 16 bf16 pairs")
	genPeakAMX()
	genAMX()
	genConv3Tiles()
	genHalf()
	genMXCSR()
	err := errors.Join(args.WriteStructs(filepath.Join(dir, "args_gen.go")),
		args.WriteEntries(filepath.Join(dir, "entries_amd64_test.go"), "amd64", entries))
	if err != nil {
		return err
	}
	// avo registers its output names as flags of the command line.
	for name, value := range map[string]string{
		"out":   filepath.Join(dir, "kernels_amd64.s"),
		"stubs": filepath.Join(dir, "kernels_amd64.go"),
		"pkg":   "kernel",
	} {
		if err := flag.Set(name, value); err != nil {
			return err
		}
	}
	os.Args = []string{"gen"} // stands in the header, which must not depend on dir
	build.Generate()
	return encodeBF16(filepath.Join(dir, "kernels_amd64.s"))
}
