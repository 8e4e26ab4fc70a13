package watch

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/chessbrain/chessbrain/record"
)

const (
	boardLines   = 10 // of a board with its two captions
	boardColumns = 20
	minColumns   = 40
	minLines     = 12
)

// Text draws the run for a terminal of so many columns and lines: the status as far as it
// fits, and below it boards of games under way. No line is longer than columns.
func (s *Source) Text(columns, lines int) string {
	if columns < minColumns || lines < minLines {
		return fmt.Sprintf("The terminal has %dx%d characters;\n%dx%d are needed.", columns, lines, minColumns, minLines)
	}
	var text bytes.Buffer
	status, err := s.Status()
	if err == nil {
		err = status.Write(&text)
	}
	if err != nil {
		fmt.Fprintln(&text, err)
	}
	games, err := s.Playing()
	if err != nil {
		fmt.Fprintln(&text, err)
	}
	rows := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	if len(games) > 0 {
		rows = rows[:min(len(rows), lines-boardLines-1)]
		shown := min(len(games), columns/boardColumns)
		for i := range boardLines {
			var line strings.Builder
			for k := range shown {
				fmt.Fprintf(&line, "%-*s", boardColumns, boardLine(&games[k], i))
			}
			if i == 0 {
				rows = append(rows, "")
			}
			rows = append(rows, strings.TrimRight(line.String(), " "))
		}
	}
	rows = rows[:min(len(rows), lines)]
	for i, row := range rows {
		if characters := []rune(row); len(characters) > columns {
			rows[i] = string(characters[:columns-1]) + "…"
		}
	}
	return strings.Join(rows, "\n")
}

// boardLine is a line of a board and its captions, at most boardColumns-1 wide.
func boardLine(v *record.View, i int) string {
	switch i {
	case boardLines - 2:
		if v.End != "" {
			return fmt.Sprintf("%s %.10s", v.Result, v.End)
		}
		return fmt.Sprintf("game %d ply %d", v.Game%1e6, len(v.Moves))
	case boardLines - 1:
		last := ""
		if n := len(v.SAN); n > 0 {
			last = v.SAN[n-1]
		}
		for k := len(v.Values) - 1; k >= 0; k-- {
			if w := v.Values[k]; w != nil {
				return fmt.Sprintf("%s, White %.0f %%", last, 100*(w.Win+w.Draw/2))
			}
		}
		return last
	}
	return v.Rows()[i]
}
