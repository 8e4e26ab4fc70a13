package main

import "strings"

const (
	helpWidth = 80 // columns of a help page
	maxColumn = 30 // widest left column: what is longer stands on a line of its own
)

// section is a part of a help page: a heading, if any, and lines.
type section struct {
	title string
	lines []string
}

// page puts empty lines between sections; no lines are no section. No line of it is
// wider than helpWidth unless a single word is.
func page(sections ...section) (lines []string) {
	for _, s := range sections {
		if len(s.lines) > 0 && len(lines) > 0 {
			lines = append(lines, "")
		}
		if len(s.lines) > 0 && s.title != "" {
			lines = append(lines, s.title+":")
		}
		lines = append(lines, s.lines...)
	}
	return lines
}

// wrap breaks a text between words; further lines begin with the indent.
func wrap(text, first, indent string) []string {
	return cutLines(first+strings.Join(strings.Fields(text), " "), indent, "")
}

// prose returns a text of paragraphs line by line, broken anew. Of indented lines,
// which are lists or formulas, each is broken by itself.
func prose(text string) (lines []string) {
	running := false // the last line goes on
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		inner := strings.TrimLeft(line, " ")
		switch last := len(lines) - 1; {
		case inner == "" || inner != line:
			lines = append(lines, cutLines(line, strings.Repeat(" ", len(line)-len(inner)+2), "")...)
		case running:
			lines = append(lines[:last], wrap(lines[last]+" "+line, "", "")...)
		default:
			lines = append(lines, wrap(line, "", "")...)
		}
		running = inner != "" && inner == line
	}
	return lines
}

// cutLines cuts a line between words, puts the mark at each cut and the indent
// before each rest. The words themselves and what is between them stay. With a mark, what
// stands in quotes is a word.
func cutLines(line, indent, mark string) (lines []string) {
	for len(line) > helpWidth {
		cut := strings.LastIndexByte(line[:helpWidth+1-len(mark)], ' ')
		for mark != "" && cut >= 0 && (strings.Count(line[:cut], "'")%2 > 0 || strings.Count(line[:cut], `"`)%2 > 0) {
			cut = strings.LastIndexByte(line[:cut], ' ')
		}
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
	if examples == "" {
		return nil
	}
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
