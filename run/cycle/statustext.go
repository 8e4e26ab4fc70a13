package cycle

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run/gate"
)

// shownRatings is how many lines of the rating list the page shows.
const shownRatings = 5

// Write writes the page as text.
func (s *Status) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	switch {
	case s.Unreadable:
		row("run", "%s, whose run.json cannot be read", s.Root)
	case s.Job == "":
		row("run", "%s (nothing is trained yet)", s.Root)
	default:
		row("run", "%s in %s, begun %s, %s, chessbrain %s", s.Job, s.Root, clock(s.Created), monitor.Count(s.Starts, "start"), s.Program)
	}
	s.writeLoop(row)
	for _, p := range s.Progress {
		row(p.What, "%s", p.String())
	}
	s.writeNets(row)
	s.writeLadder(row)
	s.writeRows(row)
	if s.Loop != nil {
		for i, text := range s.Loop.times() {
			row(first(i, "time"), "%s", text)
		}
	}
	s.writeDisk(row)
	for i, p := range s.Processes {
		text := fmt.Sprintf("%s: process %d on %s since %s (%s)", p.Role, p.PID, p.Host, clock(p.Started), p.Command)
		if p.Error != "" {
			text += "; " + p.Error
		}
		row(first(i, "processes"), "%s", text)
	}
	if len(s.Processes) == 0 {
		row("processes", "none: nobody works on this run now")
	}
	if s.Fleet != nil {
		all, missing, games := s.Fleet.Count(s.Now)
		text := fmt.Sprintf("%s on other machines, %d games of theirs", monitor.Count(all, "player"), games)
		if missing > 0 {
			text += fmt.Sprintf("; %d missing (chessbrain fleet list %s)", missing, s.Root)
		}
		row("fleet", "%s", text)
	}
	for i, l := range s.Limits {
		row(first(i, "limits"), "%s. %s: %s", l.What, l.Change, strings.Join(l.Flags, ", "))
	}
	for i, text := range s.Warnings {
		row(first(i, "warnings"), "%s", text)
	}
	return w.Flush()
}

func first(i int, name string) string {
	if i == 0 {
		return name
	}
	return ""
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }

// String is the progress in one line.
func (p Progress) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.0f", p.Have)
	if p.Need > 0 {
		fmt.Fprintf(&b, " of %.0f", p.Need)
	}
	fmt.Fprintf(&b, " %s", p.Unit)
	if p.Rate > 0 {
		fmt.Fprintf(&b, ", %.3g a second", p.Rate)
	}
	if p.ETA > 0 {
		fmt.Fprintf(&b, ", %s to go", seconds(p.ETA))
	}
	if p.Details != "" {
		fmt.Fprintf(&b, "; %s", p.Details)
	}
	return b.String()
}

// seconds writes a duration of so many seconds.
func seconds(n float64) string {
	d := time.Duration(n * float64(time.Second))
	if d >= 10*time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

func (s *Status) writeLoop(row func(name, format string, args ...any)) {
	l := s.Loop
	if l == nil {
		return
	}
	switch {
	case l.Stopped != "":
		row("cycle", "done: %s", l.Stopped)
	case l.Stage != "" && l.Running:
		row("cycle", "%d: %s since %s (%s)", l.Cycle, l.Stage, clock(l.Since), seconds(s.Now.Sub(l.Since).Seconds()))
	case l.Stage != "":
		row("cycle", "%d: %s was interrupted; the same command goes on with it", l.Cycle, l.Stage)
	case l.Next != "":
		row("cycle", "%d: %s is next", l.Cycle, l.Next)
	default:
		row("cycle", "%d: all stages are done", l.Cycle)
	}
	more := ""
	if l.MoreGames > 0 {
		more = monitor.Count(l.MoreGames, "game") + ", "
	}
	if l.MoreGames > 0 || l.MoreWorked > 0 {
		more = "; and " + more + seconds(l.MoreWorked) + " in the stage under way"
	}
	row("done", "%s, %s, %s of work%s", monitor.Count(l.Cycles, "cycle"), monitor.Count(l.Games, "game"), seconds(l.Worked), more)
}

func (s *Status) writeNets(row func(name, format string, args ...any)) {
	n := s.Nets
	playing := gate.Label(n.Newest) + " playing; "
	switch {
	case s.Job == "" && n.Accepted == 0: // players take nets from elsewhere, and their own lines say which
		playing = ""
	case !n.Playing:
		playing = gate.Label(n.Newest) + " is the newest; "
	}
	row("net", "%s%d accepted, %d rejected, %d to test, %d to export", playing, n.Accepted, n.Rejected, n.Waiting, n.ToExport)
	if n.Gate != nil {
		row("last gate", "%s", n.Gate)
	}
	for i, r := range s.Ratings {
		if i == shownRatings {
			row("", "... and %d more: chessbrain ratings %s", len(s.Ratings)-i, s.Root)
			break
		}
		row(first(i, "Elo"), "%+.0f +- %.0f  %s (%s)", r.Elo, 1.96*r.Error, gate.Label(r.Name), monitor.Count(r.Games, "game"))
	}
}

// writeLadder says where the ladder has the net that was asked for last.
func (s *Status) writeLadder(row func(name, format string, args ...any)) {
	if s.Ladder == nil {
		return
	}
	for i, c := range s.Ladder.Climbs {
		row(first(i, "ladder"), "%s with %s a move: %s", c.Rating(), c.Limit, s.Ladder.Net)
	}
}

func (s *Status) writeRows(row func(name, format string, args ...any)) {
	r := s.Rows
	if r.Need > 0 {
		row("rows", "have %d, need %d", r.Have, r.Need)
	}
	if r.Shuffle != "" {
		row("rows", "%d of self-play, %d usable; the window has %d, shuffle %s has %d of them", r.Rows, r.Usable, r.Window, r.Shuffle, r.Shuffled)
	}
	text := fmt.Sprintf("%s, %s", monitor.Count(r.Steps, "step"), monitor.Count(r.Samples, "sample"))
	if r.Ratio > 0 {
		text += fmt.Sprintf(": %.2f samples for each row of self-play", r.Ratio)
	}
	if len(s.Trainings) > 0 && s.Trainings[0].AtWork {
		text += " (in checkpoints)"
	}
	if len(s.Trainings) > 1 {
		for i, t := range s.Trainings {
			row(first(i, "trainings"), "%s: %s", t.Name, t.String(r.Rows))
		}
		return
	}
	row("trained", "%s", text)
}

// times says in two lines where the time went; what is not known is left out.
func (l *LoopStatus) times() (lines []string) {
	var parts []string
	for _, stage := range sortedStages(l.Seconds) {
		part := fmt.Sprintf("%s %s", stage, seconds(l.Seconds[stage]))
		if share, known := l.Shares[stage]; known {
			part += fmt.Sprintf(" (%.0f %%)", 100*share)
		}
		parts = append(parts, part)
	}
	if len(parts) > 0 {
		lines = append(lines, strings.Join(parts, ", "))
	}
	if l.Measured > 0 {
		lines = append(lines, fmt.Sprintf("%.1f %% of a cycle is neither playing, training nor matching", 100*l.Overhead))
	}
	return lines
}

// size writes bytes in binary units.
func size(n int64) string { return fsx.FormatBytes(uint64(max(0, n))) }

func (s *Status) writeDisk(row func(name, format string, args ...any)) {
	of := s.Disk.Parts
	largest := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, name := range largest[:min(4, len(largest))] {
		parts = append(parts, name+" "+size(of[name]))
	}
	row("disk", "%s (%s); %s free", size(s.Disk.Used), strings.Join(parts, ", "), size(int64(s.Disk.Free)))
}
