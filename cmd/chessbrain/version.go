package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/nn/kernel"
)

// release is the program's version; the commit is added from the build.
const release = "0.1.0"

// version returns the release and, where the build knows it, the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			commit = "+" + s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ".dirty"
		}
	}
	if commit == "" {
		return release
	}
	return release + commit + dirty
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version, the Go release and the CPU kernels",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "chessbrain %s\n%s %s/%s\nCPU kernels: %s\nCPU tiers here: %s\nbf16 products: %s\n",
				version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, kernel.ActiveTier(), tierNames(), yesNo(kernel.HasBF16()))
			return err
		},
	}
}
