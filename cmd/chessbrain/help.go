package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chessbrain/chessbrain/internal/config"
)

const (
	allFlag   = "all"
	helpLines = 30 // of a page without --all
	helpFlags = 12 // that such a page shows at most
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
}

// refuseAll refuses --all where no help is asked for: it would have no effect.
func refuseAll(c *cobra.Command) error {
	if wantsAll(c) && c.Name() != "help" {
		return usagef("--%s goes with --help", allFlag)
	}
	return nil
}

func wantsAll(c *cobra.Command) bool {
	f := c.Root().PersistentFlags().Lookup(allFlag)
	return f != nil && f.Value.String() == "true"
}

// helpPage returns the lines of a command's help: all of them if they are wanted or
// few, else the flags that matter.
func helpPage(c *cobra.Command, all bool) []string {
	whole := wholePage(c)
	if all || len(whole) <= helpLines {
		return whole
	}
	if !c.HasParent() {
		return rootPage(c)
	}
	return shortPage(c)
}

// wholePage has all text, commands and flags.
func wholePage(c *cobra.Command) []string {
	p := &page{}
	p.add(prose(longText(c))...)
	p.section(usageLines(c)...)
	if c.HasExample() {
		p.section(append([]string{"Examples:"}, shell(c.Example)...)...)
	}
	for _, g := range commandGroups(c) {
		p.section(append([]string{g.title + ":"}, columns(g.entries)...)...)
	}
	for _, g := range flagGroups(c) {
		var entries []entry
		for _, f := range g.flags {
			entries = append(entries, entry{flagName(f), flagText(f, f.Usage, true)})
		}
		p.section(append([]string{g.title + ":"}, columns(entries)...)...)
	}
	return p.lines
}

// shortPage has the flags that matter, and of the text and the examples as much as
// there is room for.
func shortPage(c *cobra.Command) []string {
	usage, text := usageLines(c), prose(c.Short+".")
	var commands []string
	for _, g := range commandGroups(c) {
		commands = append(commands, append([]string{g.title + ":"}, columns(g.entries)...)...)
	}
	var flags, closing []string
	for most := helpFlags; most == helpFlags || most > 0 && len(text)+sum(usage, commands, flags, closing) > helpLines; most-- {
		entries, left := shortFlags(c, most)
		flags = append([]string{"Flags:"}, columns(entries)...)
		more := "the whole text"
		if left > 0 {
			more = fmt.Sprintf("%d more flags and the whole text", left)
		}
		closing = wrap(c.CommandPath()+" --help --all shows "+more+".", "", "")
	}
	room := helpLines - sum(usage, commands, flags, closing)
	var example []string
	if c.HasExample() {
		first, _, _ := strings.Cut(strings.Trim(c.Example, "\n"), "\n\n")
		example = append([]string{"Example:"}, shell(first)...)
		if len(text)+sum(example) > room {
			example = nil
		}
	}
	long := prose(longText(c))
	if end := slices.Index(long, ""); end > 0 {
		long = long[:end]
	}
	if len(long)+sum(example) <= room {
		text = long
	}
	p := &page{lines: text}
	for _, section := range [][]string{usage, example, commands, flags, closing} {
		p.section(section...)
	}
	return p.lines
}

// sum counts the lines of sections, each with the empty line before it.
func sum(sections ...[]string) (n int) {
	for _, s := range sections {
		if len(s) > 0 {
			n += len(s) + 1
		}
	}
	return n
}

// rootPage describes the commands to begin with, and names the others.
func rootPage(root *cobra.Command) []string {
	p := &page{}
	first, _, _ := strings.Cut(strings.Trim(root.Long, "\n"), "\n\n")
	p.add(prose(first)...)
	p.section(usageLines(root)...)
	var entries []entry
	for _, name := range firstCommands {
		if c, _, err := root.Find([]string{name}); err == nil {
			short, _, _ := strings.Cut(c.Short, ": ")
			entries = append(entries, entry{name, short})
		}
	}
	p.section(append([]string{"Commands to begin with:"}, columns(entries)...)...)
	p.add("")
	for _, g := range commandGroups(root) {
		var names []string
		for _, e := range g.entries {
			name, _, _ := strings.Cut(e.name, " ")
			names = append(names, name)
		}
		p.add(wrap(strings.Join(names, " "), g.title+": ", "  ")...)
	}
	entries = nil
	for _, g := range flagGroups(root) {
		for _, f := range g.flags {
			entries = append(entries, entry{flagName(f), flagText(f, firstClause(f.Usage), false)})
		}
	}
	p.section(append([]string{"Flags of every command:"}, columns(entries)...)...)
	return p.lines
}

func longText(c *cobra.Command) string {
	if c.Long != "" {
		return c.Long
	}
	return c.Short + "."
}

// usageLines says how a command is called.
func usageLines(c *cobra.Command) []string {
	use := c.UseLine()
	if c.HasAvailableSubCommands() {
		use = c.CommandPath() + " COMMAND [flags]"
	}
	return wrap(use, "Usage: ", "    ")
}

// commandGroup is a heading and the commands below it.
type commandGroup struct {
	title   string
	entries []entry
}

// commandGroups are the sub-commands by their groups; those of no group come last.
func commandGroups(c *cobra.Command) (groups []commandGroup) {
	add := func(id, title string) {
		g := commandGroup{title: title}
		for _, sub := range c.Commands() {
			if sub.GroupID == id && (sub.IsAvailableCommand() || sub.Name() == "help") {
				g.entries = append(g.entries, entry{strings.TrimSuffix(sub.Use, " [flags]"), sub.Short})
			}
		}
		if len(g.entries) > 0 {
			groups = append(groups, g)
		}
	}
	for _, g := range c.Groups() {
		add(g.ID, g.Title)
	}
	other := "Commands"
	if len(groups) > 0 {
		other = "Others"
	}
	add("", other)
	return groups
}

// flagGroup is a heading and the flags below it.
type flagGroup struct {
	title string
	flags []*pflag.Flag
}

// flagGroups are a command's flags: those of the schema by their groups, then its
// own in the order in which it declares them. The flags of every command stand in
// the root's help alone.
func flagGroups(c *cobra.Command) (groups []flagGroup) {
	byGroup, own := map[config.Group][]*pflag.Flag{}, []*pflag.Flag(nil)
	for _, f := range flagsOf(c) {
		if v, ok := f.Value.(*config.Value); ok {
			byGroup[v.Flag().Group] = append(byGroup[v.Flag().Group], f)
		} else {
			own = append(own, f)
		}
	}
	for i := range config.Group_RUN.Descriptor().Values().Len() {
		if g := config.Group(i); len(byGroup[g]) > 0 {
			groups = append(groups, flagGroup{g.Title(), byGroup[g]})
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
		groups = append(groups, flagGroup{title, own})
	}
	return groups
}

// flagsOf are the flags that a command's own page shows.
func flagsOf(c *cobra.Command) (flags []*pflag.Flag) {
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	c.Flags().SortFlags = false
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && (!c.HasParent() || f.Name != "help" && c.InheritedFlags().Lookup(f.Name) == nil) {
			flags = append(flags, f)
		}
	})
	if !c.HasParent() {
		c.PersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !slices.Contains(flags, f) {
				flags = append(flags, f)
			}
		})
	}
	return flags
}

// shortFlags are the entries of the flags that matter: those of the schema that
// say so, then the first of the command's own, at most so many. left is the number
// of the others.
func shortFlags(c *cobra.Command, most int) (entries []entry, left int) {
	var matter, own []*pflag.Flag
	all := 0
	for _, g := range flagGroups(c) {
		for _, f := range g.flags {
			all++
			if v, ok := f.Value.(*config.Value); !ok {
				own = append(own, f)
			} else if v.Flag().Matters {
				matter = append(matter, f)
			}
		}
	}
	shown := append(matter[:min(len(matter), helpFlags-ownFlags)], own...)
	for _, f := range shown[:min(len(shown), most)] {
		entries = append(entries, entry{flagName(f), flagText(f, firstClause(f.Usage), false)})
	}
	return entries, all - len(entries)
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

// firstClause is what a flag's text says first: up to a full stop or semicolon
// that stands in no brackets, and of a long clause up to its colon.
func firstClause(text string) string {
	depth, colon := 0, -1
	for i, r := range text {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth > 0 || !strings.HasPrefix(text[i+len(string(r)):], " ") {
			continue
		}
		if r == '.' || r == ';' {
			text = text[:i]
			break
		}
		if r == ':' && colon < 0 {
			colon = i
		}
	}
	if len([]rune(text)) > shortText && colon > 0 {
		return text[:colon]
	}
	return text
}
