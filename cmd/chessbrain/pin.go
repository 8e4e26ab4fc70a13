package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/prepare"
)

func newPin() *cobra.Command {
	var remove bool
	c := &cobra.Command{
		Use:   "pin PATH...",
		Short: "Exempt directories or files of a pipeline from clean-up",
		Long: `Puts a file .pinned into a directory, or NAME.pinned beside a file: clean-up then
leaves the directory and all that is in it, or the file, alone.`,
		Example: "  chessbrain pin data/processed/shuffled_20260101_120000\n  chessbrain pin --remove data/processed/shuffled_20260101_120000",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s: name directories or files", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			change, word := prepare.Pin, "pinned"
			if remove {
				change, word = prepare.Unpin, "no longer pinned"
			}
			for _, path := range args {
				if err := change(fsx.OS, path); err != nil {
					return pathError(err)
				}
				if _, err := fmt.Fprintf(c.OutOrStdout(), "%s is %s\n", path, word); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&remove, "remove", false, "take the pin away")
	return c
}
