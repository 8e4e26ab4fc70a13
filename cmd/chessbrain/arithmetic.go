package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/bench"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// autoName lets the program choose a tier or a precision.
const autoName = bench.TierAuto

// tierFlag names the flag of all commands that forces a CPU tier.
const tierFlag = "cpu-tier"

// tierNames lists what --cpu-tier takes on this machine.
func tierNames() string {
	var names []string
	for _, t := range kernel.Tiers() {
		names = append(names, t.String())
	}
	return strings.Join(names, ", ")
}

// bindTier adds --cpu-tier to all commands below root.
func bindTier(root *cobra.Command) {
	root.PersistentFlags().String(tierFlag, autoName,
		"CPU kernels: auto (the fastest), generic, neon, avx2, avx512 or amx; `doctor` lists those of this machine [$"+kernel.TierEnv+"]")
}

// chooseTier honours --cpu-tier, which wins, or CHESSBRAIN_CPU_TIER, before any
// kernel runs. Commands that only describe the machine bear a bad variable.
func chooseTier(c *cobra.Command) error {
	f := c.Flags().Lookup(tierFlag)
	if f == nil || !f.Changed {
		if err := kernel.TierError(); err != nil && c.Name() != "doctor" && c.Name() != "version" {
			return usagef("%w; this machine has %s", err, tierNames())
		}
		return nil
	}
	if f.Value.String() == autoName {
		return kernel.SetTier(kernel.BestTier())
	}
	t, err := kernel.ParseTier(f.Value.String())
	if err == nil {
		err = kernel.SetTier(t)
	}
	if err != nil {
		return usagef("--%s: %w; this machine has %s", tierFlag, err, tierNames())
	}
	return nil
}

// bindPrecision adds --precision to a command that works without a run's
// configuration.
func bindPrecision(c *cobra.Command, name *string) {
	c.Flags().StringVar(name, "precision", autoName, "of the convolutions' products: auto (bf16 where the CPU has it), fp32 or bf16")
}

// precisionOf resolves what bindPrecision read. bf16 without the hardware is a
// warning and fp32.
func precisionOf(c *cobra.Command, name string) (kernel.Precision, error) {
	if name != autoName {
		if _, err := kernel.ParsePrecision(name); err != nil {
			return 0, usagef("--precision: %w, or %s", err, autoName)
		}
	}
	p := bench.Precision(name)
	warnLacking(c, name, p.String(), kernel.ActiveTier().String())
	return p, nil
}

// warnLacking says that the precision in use is not the one that was asked for.
func warnLacking(c *cobra.Command, asked, used, tier string) {
	if asked == kernel.BF16.String() && used != asked {
		fmt.Fprintf(c.ErrOrStderr(), "chessbrain: --precision %s: the CPU kernels in use (%s) have no bf16 products: computing in %s\n", asked, tier, used)
	}
}

// yesNo names a fact.
func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
