package screen

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run/watch"
)

// Sizes of a small board with its two captions, and of a large one.
const (
	smallColumns, smallLines = 20, 10
	largeColumns             = 24
)

// Draw returns the lines of a screen of so many columns and lines.
func (s *Screen) Draw(columns, lines int) []string {
	if columns < minColumns || lines < minLines {
		c := newCanvas(max(columns, 1), max(lines, 1))
		c.text(0, 0, plain, "The terminal has %dx%d characters;", columns, lines)
		c.text(0, 1, plain, "%dx%d are needed.", minColumns, minLines)
		return c.lines(false)
	}
	c := newCanvas(columns, lines)
	x := 0
	for p, name := range pageNames {
		if columns < 60 {
			name = name[:4]
		}
		x = c.text(x, 0, either(s.page == page(p), inverse, dim), " %d %s ", p+1, name)
	}
	c.part(x+1, 0, columns-x-1, bold, s.name)
	body := &canvas{columns, lines - 2, c.cells[columns : columns*(lines-1)]}
	keys := [numPages]func(*canvas) string{overview: s.drawOverview, games: s.drawGames, search: s.drawSearch,
		learning: s.drawLearning, processes: s.drawProcesses}[s.page](body)
	switch {
	case s.oneKey && s.prompt != "":
		c.foot(bold, s.prompt)
	case s.prompt != "":
		c.foot(bold, s.prompt+string(s.typed)+"_ (enter: take it, esc: leave it)")
	case s.said != "":
		c.foot(warn, s.said)
	case s.seen.err != nil:
		c.foot(bad, s.seen.err.Error())
	default:
		c.part(0, lines-1, columns, dim, "q quit  "+keys)
	}
	return c.lines(s.colored)
}

// either is one style where something holds, and else the other.
func either(holds bool, then, otherwise style) style {
	if holds {
		return then
	}
	return otherwise
}

// lastOf is the newest of some moves, "" before the first.
func lastOf(moves []string) string {
	if len(moves) == 0 {
		return ""
	}
	return moves[len(moves)-1]
}

// foot writes text over the last lines, as many as it needs.
func (c *canvas) foot(st style, text string) {
	rows := wrapped([]string{text}, c.width)
	rows = rows[:min(len(rows), c.height)]
	for i, row := range rows {
		c.part(0, c.height-len(rows)+i, c.width, st, fmt.Sprintf("%-*s", c.width, row))
	}
}

// Text is the first page without what moves through the others, for an output that is no
// terminal. It asks the run.
func Text(r Run, columns, lines int) string {
	s := NewScreen(r, "", false)
	s.Look()(context.Background())()
	c := newCanvas(columns, lines)
	s.drawOverview(c)
	if err := s.seen.err; err != nil {
		c.foot(bad, err.Error())
	}
	return strings.TrimRight(strings.Join(c.lines(false), "\n"), "\n")
}

// drawOverview draws the status, and boards of games under way below it.
func (s *Screen) drawOverview(c *canvas) string {
	var text bytes.Buffer
	if s.seen.status != nil {
		_ = s.seen.status.Write(&text) // a buffer takes all
	}
	rows := wrapped(strings.Split(strings.TrimRight(text.String(), "\n"), "\n"), c.width)
	room := c.height
	if len(s.seen.playing) > 0 && c.height > 2*smallLines {
		room = max(min(len(rows)+1, c.height-smallLines-1), c.height-2*smallLines-1)
		s.drawBoards(c, min(room, len(rows)+1), -1)
		room = min(room, len(rows)+1)
	}
	s.top = max(min(s.top, len(rows)-room), 0)
	for y, row := range rows[s.top:min(s.top+room, len(rows))] {
		c.part(0, y, c.width, either(strings.HasPrefix(row, "warnings"), warn, plain), row)
	}
	return "up, down scroll"
}

// wrapped breaks the rows of the status that are too long at blanks, and lets the rest begin
// below their second column.
func wrapped(rows []string, width int) (short []string) {
	for _, row := range rows {
		chars := []rune(row)
		// A label may be two words: two blanks end it. Text begins at the twelfth column.
		indent := strings.Index(string(chars[:min(len(chars), 11)]), "  ")
		for indent = max(indent, 0); indent < len(chars) && chars[indent] != ' '; indent++ {
		}
		for indent < len(chars) && chars[indent] == ' ' {
			indent++
		}
		for len(chars) > width && indent < width/2 {
			cut := width
			for cut > indent && chars[cut] != ' ' {
				cut--
			}
			if cut == indent {
				cut = width // one long word
			}
			short = append(short, string(chars[:cut]))
			chars = append(slices.Repeat([]rune{' '}, indent), []rune(strings.TrimLeft(string(chars[cut:]), " "))...)
		}
		short = append(short, string(chars))
	}
	return short
}

// drawBoards draws games under way from line y on, as many as fit: with the chosen one, which
// is marked, or from the first on.
func (s *Screen) drawBoards(c *canvas, y, chosen int) {
	across := max(c.width/smallColumns, 1)
	fit := max((c.height-y+1)/(smallLines+1), 1)
	from := max(chosen/across-fit+1, 0) * across
	for i := range s.seen.playing[min(from, len(s.seen.playing)):] {
		x, y := i%across*smallColumns, y+i/across*(smallLines+1)
		if y+smallLines > c.height {
			return
		}
		i += from
		v := &s.seen.playing[i]
		c.board(x, y, 2, v.FEN, lastOf(v.Moves), s.colored)
		caption, said := captions(v)
		c.part(x, y+8, smallColumns-1, either(i == chosen, inverse, either(v.End != "", dim, plain)), caption)
		c.part(x, y+9, smallColumns-1, dim, said)
	}
}

// captions are the two lines below a small board. A game keeps its board for a moment after
// its end: its captions say so.
func captions(v *record.View) (caption, said string) {
	if v.End != "" {
		return fmt.Sprintf("game %d over", v.Game%1e6), v.Result + " " + v.End
	}
	caption, said = fmt.Sprintf("game %d ply %d", v.Game%1e6, len(v.Moves)), lastOf(v.Moves)
	for k := len(v.Values) - 1; k >= 0; k-- {
		if w := v.Values[k]; w != nil {
			return caption, fmt.Sprintf("%s, White %.0f %%", said, 100*(w.Win+w.Draw/2))
		}
	}
	return caption, said
}

// drawGames draws the boards and the list of finished games, or the game that is open.
func (s *Screen) drawGames(c *canvas) string {
	if s.opened != nil {
		s.drawGame(c)
		return "left, right step  s search  esc back"
	}
	across := max(c.width/smallColumns, 1)
	boards := (len(s.seen.playing) + across - 1) / across
	for boards > 1 && boards*(smallLines+1) > c.height-4 {
		boards--
	}
	s.chosen = min(s.chosen, max(len(s.seen.playing)+len(s.seen.finished)-1, 0))
	if boards > 0 {
		s.drawBoards(&canvas{c.width, min(boards*(smallLines+1), c.height), c.cells}, 0, min(s.chosen, len(s.seen.playing)-1))
	}
	y := boards * (smallLines + 1)
	if len(s.seen.finished) == 0 {
		text := "no finished games that can be read"
		if !s.seen.known {
			text = "reading the games ..."
		}
		c.text(0, y, dim, "%s", text)
		return "up, down choose  enter open"
	}
	c.text(0, y, bold, "%8s %-8s %-16s %5s  %s", "game", "result", "end", "plies", "opening")
	room := max(c.height-y-1, 0)
	chosen := s.chosen - len(s.seen.playing)
	from := max(min(chosen-room/2, len(s.seen.finished)-room), 0)
	for i, g := range s.seen.finished[from:min(from+room, len(s.seen.finished))] {
		opening := strings.Join(g.SAN, " ")
		c.part(0, y+1+i, c.width, either(from+i == chosen, inverse, plain),
			fmt.Sprintf("%8d %-8s %-16.16s %5d  %s", g.Game, g.Result, g.End, len(g.Moves), opening))
	}
	return "up, down choose  enter open"
}

// drawGame draws the open game: its board, its moves, and what the searches said of it.
func (s *Screen) drawGame(c *canvas) {
	v := s.opened
	s.ply = min(s.ply, len(v.Moves))
	c.board(0, 0, 3, at(v, s.ply), lastOf(v.Moves[:s.ply]), s.colored)
	x := largeColumns + 2
	c.part(x, 0, c.width-x, bold, fmt.Sprintf("game %d  %s  %s", v.Game, v.Result, v.End))
	c.part(x, 1, c.width-x, dim, v.Net)
	value := "the search said nothing here"
	if s.ply < len(v.Values) && v.Values[s.ply] != nil {
		w := v.Values[s.ply]
		value = fmt.Sprintf("White wins %.1f %%, draw %.1f %%, Black wins %.1f %%", 100*w.Win, 100*w.Draw, 100*w.Loss)
	}
	c.part(x, 2, c.width-x, plain, value)
	s.drawMoves(&canvas{c.width, 8, c.cells}, x, 4)
	var points [][2]float64
	for i, w := range v.Values {
		if w != nil {
			points = append(points, [2]float64{float64(i), float64(w.Win + w.Draw/2)})
		}
	}
	c.chart(0, 9, min(c.width, 120), min(c.height-9, 12), "White's expected score", 0, 1, series{points: points, unordered: true})
}

// drawMoves writes the moves of the open game around the last one made.
func (s *Screen) drawMoves(c *canvas, x0, y0 int) {
	type word struct {
		text string
		ply  int
	}
	var rows [][]word
	width := c.width - x0
	used, marked := width, 0
	black := 0 // 1 where Black began
	if side := strings.Fields(s.opened.Start); len(side) > 1 && side[1] == "b" {
		black = 1
	}
	for i, san := range s.opened.SAN {
		text := san
		if n := i + black; n%2 == 0 {
			text = fmt.Sprintf("%d.%s", n/2+1, san)
		} else if i == 0 {
			text = "1..." + san
		}
		if used+len(text)+1 > width {
			rows, used = append(rows, nil), 0
		}
		used += len(text) + 1
		if i < s.ply {
			marked = len(rows) - 1
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], word{text, i + 1})
	}
	room := c.height - y0
	from := max(min(marked-room/2, len(rows)-room), 0)
	for y, row := range rows[from:min(from+room, len(rows))] {
		x := x0
		for _, w := range row {
			x = c.text(x, y0+y, either(w.ply == s.ply, inverse, plain), "%s", w.text) + 1
		}
	}
}

// drawSearch draws what the net thinks of a position.
func (s *Screen) drawSearch(c *canvas) string {
	const keys = "enter play  backspace take back  +, - visits  n net  f position"
	t := s.thought
	if t == nil {
		text := "enter searches the start of a game"
		if s.leave != nil {
			text = "searching ..."
		}
		c.text(0, 0, plain, "%s", text)
		return keys
	}
	words := strings.Fields(s.position)
	last := ""
	if slices.Contains(words, "moves") {
		last = words[len(words)-1]
	}
	c.board(0, 0, 3, t.FEN, last, s.colored)
	x := largeColumns + 2
	head := fmt.Sprintf("%s, %d visits, %d ms", t.Net, t.Visits, t.Millis)
	if s.leave != nil {
		head = "searching ..."
	}
	c.part(x, 0, c.width-x, bold, head)
	if t.Over != "" {
		c.part(x, 1, c.width-x, warn, "the game is over: "+t.Over)
		return keys
	}
	wdl := func(y int, name string, v *watch.WDL) {
		c.part(x, y, c.width-x, plain, fmt.Sprintf("%-8s Q %+.3f  win %4.1f  draw %4.1f  loss %4.1f %%", name, v.Q, 100*v.Win, 100*v.Draw, 100*v.Loss))
	}
	wdl(1, "search", t.Value)
	wdl(2, "net", t.Raw)
	c.part(x, 4, c.width-x, plain, "line     "+strings.Join(t.Line, " "))
	c.part(x, 6, c.width-x, dim, s.position)
	y := 9
	c.text(0, y, bold, "%-8s %7s %8s %7s %7s", "move", "visits", "Q", "net %", "target")
	room := c.height - y - 1
	s.move = min(s.move, max(len(t.Moves)-1, 0))
	from := max(min(s.move-room/2, len(t.Moves)-room), 0)
	most := float64(1)
	for _, m := range t.Moves {
		most = max(most, float64(m.Target))
	}
	for i, m := range t.Moves[from:min(from+room, len(t.Moves))] {
		q := "-"
		if m.Q != nil {
			q = fmt.Sprintf("%+.3f", *m.Q)
		}
		at := c.text(0, y+1+i, either(from+i == s.move, inverse, plain),
			"%-8s %7d %8s %7.1f %7.1f", m.SAN, m.N, q, 100*m.P, 100*m.Target)
		for k := range min(int(float64(c.width-at-4)*float64(m.Target)/most), c.width-at-4) {
			c.set(at+2+k, y+1+i, '▬', curve1)
		}
	}
	return keys
}

// drawLearning draws curves of the training, and the newest alarms.
func (s *Screen) drawLearning(c *canvas) string {
	keys := "up, down scroll"
	l := s.seen.learning
	if l == nil {
		c.text(0, 0, dim, "reading the metrics ...")
		return keys
	}
	y := 0
	if len(l.Trainings) > 1 {
		keys += "  left, right training"
		x := c.text(0, y, dim, "trainings ")
		for _, name := range l.Trainings {
			x = c.text(x, y, either(name == l.Training, inverse, plain), " %s ", name)
		}
		y++
	}
	if l.Read < 1 {
		c.text(0, y, warn, "%.0f %% of the metrics are read", 100*l.Read)
		y++
	}
	if len(l.Alarms) > 0 {
		a := l.Alarms[0]
		c.part(0, y, c.width, warn, fmt.Sprintf("%s (step %d; %s): %s", a.Message, a.Step, monitor.Count(len(l.Alarms), "alarm"), a.Remedy))
		y++
	}
	type picture struct {
		title     string
		low, high float64
		all       []series
	}
	none := math.NaN()
	one := func(name, tag string) series { return series{name: name, points: l.Curves[tag]} }
	var all []picture
	losses := slices.Sorted(maps.Keys(l.Curves))
	slices.SortStableFunc(losses, func(a, b string) int { return rank(a) - rank(b) })
	for _, tag := range losses {
		if name, ok := strings.CutPrefix(tag, "train/"); ok && strings.HasSuffix(name, "_loss") && name != "l2_loss" {
			all = append(all, picture{strings.ReplaceAll(name, "_", " "), none, none, []series{one("trained", tag), one("held out", "val/"+name)}})
		}
	}
	all = append(all,
		picture{"accuracy", 0, 1, []series{one("move", "val/policy_accuracy"), one("result", "val/value_accuracy")}},
		picture{"entropy (nats)", 0, none, []series{one("net", "train/policy_entropy"), one("target", "train/target_entropy")}},
		picture{"learning rate", 0, none, []series{one("", "train/lr")}},
		picture{"gradient", 0, none, []series{one("", "train/grad_norm")}},
		picture{"plies of games", 0, none, []series{one("", "selfplay/mean_plies")}},
		picture{"draws", 0, 1, []series{one("", "selfplay/draw_share")}},
		picture{"calibration", 0, 1, []series{{"scored", l.Calibration.Points(), true}, {"as the search said", [][2]float64{{0, 0}, {1, 1}}, true}}},
		picture{"positions a second", 0, none, []series{one("", "selfplay/positions_s")}})
	const wide, high = 40, 8
	across := max(c.width/wide, 1)
	s.top = max(min(s.top, (len(all)+across-1)/across-(c.height-y)/high), 0)
	for i, p := range all[min(s.top*across, len(all)):] {
		top := y + i/across*high
		if top+high > c.height+1 {
			break
		}
		width := c.width / across
		c.chart(i%across*width, top, width-2, high-1, p.title, p.low, p.high, p.all...)
	}
	return keys
}

// rank puts what matters most first.
func rank(tag string) int {
	if i := slices.Index([]string{"train/policy_loss", "train/value_loss"}, tag); i >= 0 {
		return i
	}
	return 2
}

// drawProcesses draws who works on the run, the chosen one with its counters.
func (s *Screen) drawProcesses(c *canvas) string {
	const keys = "up, down  c checkpoint  t train now  d try a stage  w swap it  x stop"
	all := s.workers()
	if len(all) == 0 {
		if s.seen.status != nil {
			c.text(0, 0, plain, "Nobody works on this run now.")
		}
		return keys
	}
	s.chosen = min(s.chosen, len(all)-1)
	for i, p := range all {
		c.part(0, i, c.width, either(i == s.chosen, inverse, plain),
			fmt.Sprintf("%-16s process %d on %s, %s", p.Role, p.PID, p.Host, p.Command))
	}
	y := len(all)
	if f := s.seen.status.Fleet; f != nil {
		players, missing, games := f.Count(s.seen.status.Now)
		c.part(0, y, c.width, plain, fmt.Sprintf("%d players on other machines, %d of them missing, %d games of theirs", players, missing, games))
		y++
	}
	y++
	p := all[s.chosen]
	if p.Error != "" {
		c.part(0, y, c.width, bad, p.Error)
		y++
	}
	var page any
	if len(p.Page) > 0 && json.Unmarshal(p.Page, &page) != nil {
		page = string(p.Page)
	}
	lines := facts("", page)
	columns := max(c.width/60, 1)
	room := (c.height - y) * columns
	if len(lines) > room && room > 0 {
		lines[room-1] = fmt.Sprintf("... and %d more: chessbrain ctl RUN status", len(lines)-room+1)
	}
	for i, f := range lines[:min(len(lines), max(room, 0))] {
		c.part(i%columns*c.width/columns, y+i/columns, c.width/columns-1, plain, f)
	}
	return keys
}

// facts are the lines of a value of a process's page: what is nested is named by its way.
func facts(name string, v any) (lines []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			lines = append(lines, facts(strings.TrimSpace(name+" "+strings.ReplaceAll(key, "_", " ")), v[key])...)
		}
	case []any:
		for i, e := range v {
			lines = append(lines, facts(fmt.Sprintf("%s %d", name, i+1), e)...)
		}
	case float64:
		lines = []string{fmt.Sprintf("%-36s %s", name, number(v))}
	case nil:
	default:
		lines = []string{fmt.Sprintf("%-36s %v", name, v)}
	}
	return lines
}
