package main

import (
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run/setup"
)

// noFiles says to a shell that names of files are no answer.
const noFiles = cobra.ShellCompDirectiveNoFileComp

// completion is what cobra asks for the words that may come next.
type completion = func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// oneOf completes by words.
func oneOf[S ~string](words []S) completion {
	return func(*cobra.Command, []string, string) (list []string, _ cobra.ShellCompDirective) {
		for _, word := range words {
			list = append(list, string(word))
		}
		return list, noFiles
	}
}

// directories completes by the names of directories.
func directories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// inTurn completes the first argument by the first of all, the second by the second, and
// nothing behind the last.
func inTurn(all ...completion) completion {
	return func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(all) {
			return nil, noFiles
		}
		return all[len(args)](c, args, word)
	}
}

// completeFlag lets shells complete a flag by words.
func completeFlag[S ~string](c *cobra.Command, flag string, words []S) {
	completeFlagBy(c, flag, oneOf(words))
}

func completeFlagBy(c *cobra.Command, flag string, words completion) {
	if err := c.RegisterFlagCompletionFunc(flag, words); err != nil {
		panic(err) // the flag is not registered, or twice
	}
}

// completeArgs lets shells complete directories where commands take a run, and nothing
// behind it; and names of stages where flags take them.
func completeArgs(c *cobra.Command) {
	if c.ValidArgsFunction == nil && strings.Contains(c.Use, "RUN") {
		c.ValidArgsFunction = inTurn(directories)
	}
	for _, kind := range stageKinds {
		if c.Flags().Lookup(kind) != nil {
			completeFlagBy(c, kind, func(c *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
				return stageNames(c, stage.Kind(kind), word), noFiles
			})
		}
	}
	for _, below := range c.Commands() {
		completeArgs(below)
	}
}

// stageKinds are the kinds of stages: flags that choose stages are called so.
var stageKinds = []string{string(stage.KindRescorer), string(stage.KindSampler), string(stage.KindExporter)}

// stageNames are the names of a kind that may stand for word, or with kind "" of all: the
// built-in stages and the programs of --plugin-dir and $CHESSBRAIN_PLUGIN_DIR. None is
// started, so that a program stands for any kind. Rescorers are a list.
func stageNames(c *cobra.Command, kind stage.Kind, word string) (names []string) {
	var dirs []string
	if f := c.Flags().Lookup("plugin-dir"); f != nil {
		if s, ok := f.Value.(pflag.SliceValue); ok {
			dirs = s.GetSlice()
		} else {
			dirs = filepath.SplitList(f.Value.String())
		}
	}
	o := setup.HostOptions(&config.Plugins{Dir: dirs}, "", slog.New(slog.DiscardHandler))
	before := ""
	if kind == stage.KindRescorer {
		before = word[:strings.LastIndexByte(word, ',')+1]
	}
	add := func(name string) {
		if full := before + name; !slices.Contains(strings.Split(before, ","), name) && !slices.Contains(names, full) {
			names = append(names, full)
		}
	}
	for _, d := range o.Builtin {
		if kind == "" || d.Kind == kind {
			add(d.Name)
		}
	}
	programs, _ := host.Discover(o.Dirs) // those that may not run are no answer
	for _, p := range programs {
		add(p.Name)
	}
	return names
}

// stageOrPath completes one argument: the name of a stage, or the path of a program.
var stageOrPath = inTurn(func(c *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return stageNames(c, "", word), cobra.ShellCompDirectiveDefault
})

// swapArgs completes RUN KIND NAME.
var swapArgs = inTurn(directories, oneOf(stageKinds),
	func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		return stageNames(c, stage.Kind(args[1]), word), noFiles
	})
