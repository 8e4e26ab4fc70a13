package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// everyCommand calls fn with root and all below it.
func everyCommand(c *cobra.Command, fn func(*cobra.Command)) {
	fn(c)
	for _, sub := range c.Commands() {
		everyCommand(sub, fn)
	}
}

// complete returns the command tree with the commands and flags that cobra adds.
func complete() *cobra.Command {
	root := newRoot()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}

// TestHelpFits: the help of every command has at most 25 lines, and no help page
// has a line that a terminal of 80 columns would break.
func TestHelpFits(t *testing.T) {
	everyCommand(complete(), func(c *cobra.Command) {
		if n := len(helpPage(c, false)); n > helpLines {
			t.Errorf("%s --help has %d lines, want at most %d", c.CommandPath(), n, helpLines)
		}
		for _, line := range append(helpPage(c, false), helpPage(c, true)...) {
			if len([]rune(line)) > helpWidth {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), len([]rune(line)), line)
			}
		}
	})
}

// TestHelpAllHasEveryFlag: --help --all shows each flag of a command, and those of every command in the root's help alone.
func TestHelpAllHasEveryFlag(t *testing.T) {
	root := complete()
	everyCommand(root, func(c *cobra.Command) {
		text := strings.Join(helpPage(c, true), "\n") + "\n"
		count := func(f *pflag.Flag) int {
			return strings.Count(text, "\n  "+flagName(f)+" ") + strings.Count(text, "\n  "+flagName(f)+"\n")
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" && c != root {
				return
			}
			if count(f) == 0 && !f.Hidden {
				t.Errorf("%s --help --all does not show --%s", c.CommandPath(), f.Name)
			}
		})
		root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
			if n := count(f); c != root && n > 0 {
				t.Errorf("%s shows --%s, which every command has", c.CommandPath(), f.Name)
			}
		})
	})
}

// TestHelpAllHasHeadings: flags of the schema stand under the titles of their groups.
func TestHelpAllHasHeadings(t *testing.T) {
	text := strings.Join(helpPage(find(t, "train"), true), " ")
	text = strings.Join(strings.Fields(text), " ")
	for _, part := range []string{
		"Search: --mcts-simulations ", "This command: --config ", "default 16; range [1,65536]; $BATCH_SIZE)",
		"Examples: chessbrain train --episodes 200",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

func TestFirstClause(t *testing.T) {
	for text, want := range map[string]string{
		"Rows of a batch":                         "Rows of a batch",
		"Rows; 0 = all":                           "Rows",
		"File (textproto; see there). More":       "File (textproto; see there)",
		"0.5 or more; rest":                       "0.5 or more",
		"Device: cpu, cuda":                       "Device: cpu, cuda",
		"Device: " + strings.Repeat("word ", 20):  "Device",
		strings.Repeat("word ", 20) + "and so on": strings.Repeat("word ", 20) + "and so on",
	} {
		if got := firstClause(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestShell(t *testing.T) {
	long := "  chessbrain train " + strings.Repeat("--steps 10 ", 7)
	lines := shell(long + "\n\n  short")
	if len(lines) != 4 || !strings.HasSuffix(lines[0], ` \`) || !strings.HasPrefix(lines[1], "      --") || lines[3] != "  short" {
		t.Errorf("%q", lines)
	}
}
