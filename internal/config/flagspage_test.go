package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

const flagsPath = "../../docs/FLAGS.md"

const flagsHeader = `# Flags and environment variables

This page is made from the schema (internal/config/chessbrain.proto) by ` + "`go generate`" + `.
Each flag sets one field of the configuration; configs/example.textproto has the fields that have no flag.
A flag wins over its variable, the variable over the file of --config, the file over what the run keeps, and that over
the default.

* **Range**: an interval; a round bracket excludes its end.
* **Resume**: a run that was begun refuses another value of a fixed field. Every other change is taken and logged.
  A run keeps its values: the next start has them again, without a word. Those of "each start" it does not keep.
* "chessbrain COMMAND --help --all" shows the flags of one command. Some commands have flags of their own besides.
`

// commandsOf are the commands with flags of the schema.
var commandsOf = []struct {
	name   string
	groups []Group
}{
	{"train", TrainGroups}, {"init", TrainGroups}, {"daemon", TrainGroups}, {"run", RunGroups}, {"selfplay", SelfPlayGroups},
	{"gatekeeper", GatekeeperGroups}, {"export", ExportGroups}, {"gc", []Group{Group_RETENTION}},
}

// flagsPage is docs/FLAGS.md.
func flagsPage() []byte {
	page := bytes.NewBufferString(flagsHeader)
	for i := range Group_RUN.Descriptor().Values().Len() {
		g := Group(i)
		var commands []string
		for _, c := range commandsOf {
			if slices.Contains(c.groups, g) {
				commands = append(commands, c.name)
			}
		}
		fmt.Fprintf(page, "\n## %s\n\nCommands: %s.\n\n", g.Title(), strings.Join(commands, ", "))
		page.WriteString("| flag | variable | field | default | range | resume | meaning |\n|---|---|---|---|---|---|---|\n")
		for _, v := range NewFlagSet(g).Values() {
			f := v.Flag()
			values := f.Range
			if values == "" {
				values = v.Type()
			}
			fmt.Fprintf(page, "| `--%s` | %s | `%s` | %s | %s | %s | %s |\n", f.Name, code(f.Env), f.Path, code(v.String()),
				cell(values), resumeWord(resumeOf(f.Path)), cell(f.Usage))
		}
	}
	return page.Bytes()
}

func resumeWord(rule Resume) string {
	return map[Resume]string{Resume_FREE: "free", Resume_FIXED: "fixed", Resume_FIXED_ONCE_GIVEN: "fixed, once given",
		Resume_FIXED_IF_DETERMINISTIC: "fixed if deterministic", Resume_EACH_START: "each start"}[rule]
}

// code marks a word of a table as code; nothing stays nothing.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + cell(text) + "`"
}

// cell keeps a text from ending its cell of a table, or from being taken for markup.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*").Replace(text)
}
