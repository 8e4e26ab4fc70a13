package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// printed is a result that can be printed for a person.
type printed interface {
	Write(out io.Writer) error
}

// answer prints a command's result for a person, or as one JSON object.
func answer(c *cobra.Command, asJSON bool, r printed) error {
	if asJSON {
		return printJSON(c, r)
	}
	return r.Write(c.OutOrStdout())
}

// answerf is answer for a result of one line, which format says.
func answerf(c *cobra.Command, asJSON bool, r any, format string, args ...any) error {
	if asJSON {
		return printJSON(c, r)
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), format, args...)
	return err
}

// printJSON prints a result as one JSON object on a line of its own.
func printJSON(c *cobra.Command, r any) error { return json.NewEncoder(c.OutOrStdout()).Encode(r) }

// tell returns what writes lines about a command's work to standard error, as its
// errors are written.
func tell(c *cobra.Command) func(format string, args ...any) {
	return func(format string, args ...any) {
		fmt.Fprintf(c.ErrOrStderr(), "chessbrain: %s\n", fmt.Sprintf(format, args...))
	}
}

// printLines prints each of lines as a JSON object on a line of its own.
func printLines[T any](c *cobra.Command, lines []T) error {
	for i := range lines {
		if err := printJSON(c, &lines[i]); err != nil {
			return err
		}
	}
	return nil
}
