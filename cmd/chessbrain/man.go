package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write a manual page for each command",
		Long: `Writes DIR/man1/chessbrain.1 and a page for each command below it, with what --help
--all shows, for man and its readers.`,
		Example: "  chessbrain man ~/.local/share/man && man chessbrain-train",
		Args:    exactArgs(1, "name one directory, got %d arguments"),
		RunE: func(c *cobra.Command, args []string) error {
			dir := filepath.Join(args[0], "man1")
			if err := fsx.MkdirAll(fsx.OS, dir); err != nil {
				return pathError(err)
			}
			pages := 0
			var write func(c *cobra.Command) error
			write = func(c *cobra.Command) error {
				pages++
				err := os.WriteFile(filepath.Join(dir, manName(c)+".1"), []byte(manPage(c)), 0o644)
				for _, sub := range c.Commands() {
					if err == nil && sub.IsAvailableCommand() {
						err = write(sub)
					}
				}
				return err
			}
			if err := write(c.Root()); err != nil {
				return pathError(err)
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "%d pages in %s; man -M %s chessbrain shows the first\n", pages, dir, args[0])
			return err
		},
	}
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage is a command's page in the language of man.
func manPage(c *cobra.Command) string {
	var b strings.Builder
	line := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	as := func(lines []string) { // as they stand
		line(".PP\n.nf")
		for _, l := range lines {
			line("%s", roff(l))
		}
		line(".fi")
	}
	line(`.TH "%s" 1 "" "chessbrain %s"`, roff(strings.ToUpper(manName(c))), roff(version()))
	line(".SH NAME\n%s \\- %s", roff(manName(c)), roff(c.Short))
	line(".SH SYNOPSIS")
	as([]string{strings.TrimPrefix(strings.Join(usage(c).lines, " "), "Usage: ")})
	line(".SH DESCRIPTION")
	for paragraph := range strings.SplitSeq(strings.Trim(longText(c), "\n"), "\n\n") {
		if lines := strings.Split(paragraph, "\n"); strings.Contains(paragraph, "\n ") || strings.HasPrefix(paragraph, " ") { // a list
			as(lines)
		} else {
			line(".PP\n%s", roff(strings.Join(lines, " ")))
		}
	}
	entries := func(title string, entries []entry) {
		line(".SS %s", roff(title))
		for _, e := range entries {
			line(".TP\n.B %s\n%s", roff(e.name), roff(strings.Join(strings.Fields(e.text), " ")))
		}
	}
	if groups := flagGroups(c); len(groups) > 0 {
		line(".SH OPTIONS")
		for _, g := range groups {
			entries(g.title, flagEntries(g.members, true))
		}
	}
	if groups := commandGroups(c); len(groups) > 0 {
		line(".SH COMMANDS")
		for _, g := range groups {
			entries(g.title, commandEntries(g.members))
		}
	}
	if c.Example != "" {
		line(".SH EXAMPLES")
		as(strings.Split(c.Example, "\n"))
	}
	if c.HasParent() {
		line(".SH SEE ALSO\n.BR %s (1)", roff(manName(c.Parent())))
	}
	return b.String()
}

// roff writes text for man: neither a backslash nor a point or quote at the beginning of a
// line is a command, and a hyphen stays one that can be copied.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
