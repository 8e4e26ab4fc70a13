package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chessbrain/chessbrain/internal/config"
)

const (
	allFlag   = "all"
	helpLines = 25 // of a page without --all
	helpFlags = 12 // that such a page shows at most
	fewFlags  = 7  // of them that are shown rather than a longer text
	ownFlags  = 2  // of them that are the command's own, where the schema has many
)

// firstCommands are those that the root's short help describes; the others it
// names.
var firstCommands = []string{"run", "status", "train", "match", "uci", "doctor"}

// bindHelp gives root its help pages, and the flag that shows them whole.
func bindHelp(root *cobra.Command) {
	cobra.EnableCommandSorting = false // they stand in the order in which a user meets them
	root.PersistentFlags().Bool(allFlag, false, "with --help: everything, flags by group")
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		fmt.Fprintln(c.OutOrStdout(), strings.Join(helpPage(c, wantsAll(c)), "\n"))
	})
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help for a command",
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err == nil && c.HasSubCommands() {
				err = noArgs(c, rest)
			}
			if err != nil {
				return usageError{err}
			}
			return c.Help()
		},
	})
}

func wantsAll(c *cobra.Command) bool {
	f := c.Root().PersistentFlags().Lookup(allFlag)
	return f != nil && f.Value.String() == "true"
}

// helpPage returns the lines of a command's help: all of them if they are wanted or
// few, else the flags that matter.
func helpPage(c *cobra.Command, all bool) []string {
	sections := []section{{"", prose(longText(c))}, usage(c), {"Examples", shell(c.Example)}}
	sections = append(sections, commandSections(c)...)
	for _, g := range flagGroups(c) {
		sections = append(sections, section{g.title, columns(flagEntries(g.members, true))})
	}
	whole := page(sections...)
	switch {
	case all || len(whole) <= helpLines:
		return whole
	case !c.HasParent():
		return rootPage(c)
	}
	return shortPage(c)
}

// shortPage has the flags that matter, and of the text and the examples as much as
// there is room for.
func shortPage(c *cobra.Command) (lines []string) {
	first, _, _ := strings.Cut(c.Example, "\n\n")
	paragraph, _, _ := strings.Cut(longText(c), "\n\n")
	short, long := section{"", prose(c.Short + ".")}, section{"", prose(paragraph)}
	use, example := usage(c), section{"Example", shell(first)}
	for i, begin := range [][]section{{long, use, example}, {short, use, example}, {long, use}, {short, use}} {
		for most := helpFlags; most >= []int{fewFlags, fewFlags, fewFlags, 1}[i]; most-- {
			flags, left := shortFlags(c, most)
			more := "the whole text"
			if left > 0 {
				more = fmt.Sprintf("%d more flags and the whole text", left)
			}
			closing := wrap(c.CommandPath()+" --help --all shows "+more+".", "", "")
			rest := append(commandSections(c), section{"Flags", columns(flagEntries(flags, false))}, section{"", closing})
			if lines = page(append(begin, rest...)...); len(lines) <= helpLines {
				return lines
			}
		}
	}
	return lines
}

// rootPage describes the commands to begin with, and names the others.
func rootPage(root *cobra.Command) []string {
	first, _, _ := strings.Cut(root.Long, "\n\n")
	var begin []entry
	for _, name := range firstCommands {
		if c, _, err := root.Find([]string{name}); err == nil {
			short, _, _ := strings.Cut(c.Short, ": ")
			begin = append(begin, entry{name, short})
		}
	}
	var all []string
	for _, g := range commandGroups(root) {
		var names []string
		for _, c := range g.members {
			names = append(names, c.Name())
		}
		all = append(all, wrap(strings.Join(names, " "), g.title+": ", "  ")...)
	}
	closing := wrap(root.Name()+" COMMAND --help describes a command, --help --all all of them and the flags of every command.", "", "")
	return page(section{"", prose(first)}, usage(root), section{"Commands to begin with", columns(begin)}, section{"", all}, section{"", closing})
}

func longText(c *cobra.Command) string { return cmp.Or(c.Long, c.Short+".") }

// usage says how a command is called.
func usage(c *cobra.Command) section {
	return section{"", wrap(c.UseLine(), "Usage: ", "    ")}
}

// group is a heading and the commands or flags below it.
type group[T any] struct {
	title   string
	members []T
}

// commandGroups are the sub-commands by their groups; those of no group come last.
func commandGroups(c *cobra.Command) (groups []group[*cobra.Command]) {
	other := "Commands"
	if len(c.Groups()) > 0 {
		other = "Others"
	}
	for _, g := range slices.Concat(c.Groups(), []*cobra.Group{{Title: other}}) {
		var members []*cobra.Command
		for _, sub := range c.Commands() {
			if sub.GroupID == g.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				members = append(members, sub)
			}
		}
		if len(members) > 0 {
			groups = append(groups, group[*cobra.Command]{g.Title, members})
		}
	}
	return groups
}

// commandSections describe the sub-commands.
func commandSections(c *cobra.Command) (sections []section) {
	for _, g := range commandGroups(c) {
		sections = append(sections, section{g.title, columns(commandEntries(g.members))})
	}
	return sections
}

// commandEntries are the lines of commands.
func commandEntries(commands []*cobra.Command) (entries []entry) {
	for _, c := range commands {
		entries = append(entries, entry{strings.TrimSuffix(c.Use, " [flags]"), c.Short})
	}
	return entries
}

// flagGroups are a command's flags: those of the schema by their groups, then its
// own in the order in which it declares them. The flags of every command stand in
// the root's help alone.
func flagGroups(c *cobra.Command) (groups []group[*pflag.Flag]) {
	byGroup, own := map[config.Group][]*pflag.Flag{}, []*pflag.Flag(nil)
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	c.Flags().SortFlags = false
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if v, ok := f.Value.(*config.Value); ok && !f.Hidden {
			byGroup[v.Flag().Group] = append(byGroup[v.Flag().Group], f)
		} else if !f.Hidden && (f.Name != "help" || !c.HasParent()) {
			own = append(own, f)
		}
	})
	for i := range config.Group_RUN.Descriptor().Values().Len() {
		if g := config.Group(i); len(byGroup[g]) > 0 {
			groups = append(groups, group[*pflag.Flag]{g.Title(), byGroup[g]})
		}
	}
	title := "Flags"
	switch {
	case !c.HasParent():
		title = "Flags of every command"
	case len(groups) > 0:
		title = "This command"
	}
	if len(own) > 0 {
		groups = append(groups, group[*pflag.Flag]{title, own})
	}
	return groups
}

// shortFlags are the flags that matter: those of the schema that say so, then the
// first of the command's own, at most so many. left is the number of the others.
func shortFlags(c *cobra.Command, most int) (flags []*pflag.Flag, left int) {
	var matter, own []*pflag.Flag
	all := 0
	for _, g := range flagGroups(c) {
		for _, f := range g.members {
			all++
			if v, ok := f.Value.(*config.Value); !ok {
				own = append(own, f)
			} else if v.Flag().Matters {
				matter = append(matter, f)
			}
		}
	}
	flags = append(matter[:min(len(matter), max(0, most-ownFlags))], own...)
	flags = flags[:min(len(flags), most)]
	return flags, all - len(flags)
}

// flagEntries are the lines of flags, with their whole texts or with what each says first.
func flagEntries(flags []*pflag.Flag, whole bool) (entries []entry) {
	for _, f := range flags {
		text := f.Usage
		if !whole {
			text = firstClause(text)
		}
		entries = append(entries, entry{flagName(f), flagText(f, text, whole)})
	}
	return entries
}

func flagName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand + ", --" + f.Name
	}
	return "--" + f.Name
}

// flagText is a flag's text with its default and variable, and with its range where
// there is room for everything.
func flagText(f *pflag.Flag, text string, whole bool) string {
	var notes []string
	said := strings.Contains(f.Usage, "(default") // the text knows better
	if !said && !slices.Contains([]string{"", "false", "[]", "0s"}, f.DefValue) && (whole || f.DefValue != "0") {
		notes = append(notes, "default "+f.DefValue)
	}
	if v, ok := f.Value.(*config.Value); ok {
		if r := v.Flag().Range; r != "" && whole {
			notes = append(notes, "range "+r)
		}
		if env := v.Flag().Env; env != "" {
			notes = append(notes, "$"+env)
		}
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if len(notes) == 0 {
		return text
	}
	return text + " (" + strings.Join(notes, "; ") + ")"
}

// shortText is the longest text of a flag that a short page has room for, in runes.
const shortText = 90

// upTo matches a text up to the first of some marks that ends a word and stands in no brackets.
func upTo(marks string) *regexp.Regexp {
	return regexp.MustCompile(`^(?:\([^)]*\)|[^` + marks + `]|[` + marks + `](?:\S|$))*`)
}

var upToStop, upToColon = upTo(".;"), upTo(":")

// firstClause is what a flag's text says first: up to a full stop or semicolon, and of a
// long clause up to its colon.
func firstClause(text string) string {
	text = upToStop.FindString(text)
	if len([]rune(text)) > shortText {
		return upToColon.FindString(text)
	}
	return text
}
