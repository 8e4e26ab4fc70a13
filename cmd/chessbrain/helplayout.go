package main

import "strings"

const (
	helpWidth = 80 // columns of a help page
	maxColumn = 30 // widest left column: what is longer stands on a line of its own
)

// page is a help text under construction. No line of it is wider than helpWidth
// unless a single word is.
type page struct{ lines []string }

func (p *page) add(lines ...string) { p.lines = append(p.lines, lines...) }

// section adds lines after an empty one; no lines are no section.
func (p *page) section(lines ...string) {
	if len(lines) > 0 {
		p.add("")
		p.add(lines...)
	}
}

// wrap breaks a text between words; further lines begin with the indent.
func wrap(text, first, indent string) (lines []string) {
	line, empty := first, true
	for word := range strings.FieldsSeq(text) {
		if !empty && len([]rune(line))+1+len([]rune(word)) > helpWidth {
			lines = append(lines, line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return append(lines, line)
}

// prose returns a text of paragraphs line by line. A paragraph with a line that is
// too wide is broken anew; of indented lines, which are examples, lists or
// formulas, each is broken by itself.
func prose(text string) (lines []string) {
	for paragraph := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		wide := false
		var own []string
		for l := range strings.SplitSeq(paragraph, "\n") {
			wide = wide || len([]rune(l)) > helpWidth && !strings.HasPrefix(l, " ")
			own = append(own, fold(l)...)
		}
		if wide {
			own = wrap(paragraph, "", "")
		}
		lines = append(lines, own...)
	}
	return lines
}

// fold breaks a line that is too wide. Where it has two columns, the rest stands
// under the second one.
func fold(line string) []string {
	if strings.HasPrefix(strings.TrimSpace(line), "chessbrain ") {
		return shell(line)
	}
	indent := len(line) - len(strings.TrimLeft(line, " ")) + 2
	if gap := strings.Index(line[indent:], "   "); gap >= 0 {
		rest := strings.TrimLeft(line[indent+gap:], " ")
		if column := len(line) - len(rest); column < helpWidth/2 {
			indent = column
		}
	}
	return cutLines(line, strings.Repeat(" ", indent), "")
}

// cutLines cuts a line between words, puts the mark at each cut and the indent
// before each rest. The words themselves and what is between them stay.
func cutLines(line, indent, mark string) (lines []string) {
	for len(line) > helpWidth {
		cut := strings.LastIndexByte(line[:helpWidth+1-len(mark)], ' ')
		if cut < 0 || strings.TrimSpace(line[:cut]) == "" {
			break // a single word
		}
		lines = append(lines, strings.TrimRight(line[:cut], " ")+mark)
		line = indent + strings.TrimLeft(line[cut:], " ")
	}
	return append(lines, line)
}

// shell breaks the command lines of examples that are too wide, as a shell reads
// them on.
func shell(examples string) (lines []string) {
	for line := range strings.SplitSeq(strings.Trim(examples, "\n"), "\n") {
		lines = append(lines, cutLines(line, "      ", ` \`)...)
	}
	return lines
}

// entry is a line of two columns: a flag or command, and its text.
type entry struct{ name, text string }

// columns lays entries out below each other; the texts begin at one column.
func columns(entries []entry) (lines []string) {
	width := 0
	for _, e := range entries {
		if len(e.name) <= maxColumn {
			width = max(width, len(e.name))
		}
	}
	indent := strings.Repeat(" ", width+4)
	for _, e := range entries {
		first := "  " + e.name
		if len(e.name) > width {
			lines = append(lines, first)
			first = ""
		}
		first += strings.Repeat(" ", len(indent)-len(first))
		lines = append(lines, wrap(e.text, first, indent)...)
	}
	return lines
}
