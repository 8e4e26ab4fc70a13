package train

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/trainer"
)

// untaughtSteps is the number of steps in a row without a target after which a
// head is reported.
const untaughtSteps = 100

// headRows counts the rows from which each head learnt. A head without a target
// fails no step: its loss is NaN, its gradient 0, and its weights stay as they were
// while the others learn. Nothing else in a run would show it.
type headRows struct {
	losses  []trainer.Loss         // of the trainer's configuration
	steps   int                    // of this process
	heads   []trainer.Head         // that have a loss of a weight above 0, in the order of losses
	rows    map[trainer.Head]int64 // with a known target, of all steps
	without map[trainer.Head]int   // steps since the last of them
}

func newHeadRows(losses []trainer.Loss) *headRows {
	h := &headRows{losses: losses, rows: map[trainer.Head]int64{}, without: map[trainer.Head]int{}}
	for i := range losses {
		l := &losses[i]
		if l.Head != trainer.HeadWeights && l.Weight > 0 && !slices.Contains(h.heads, l.Head) {
			h.heads = append(h.heads, l.Head)
		}
	}
	return h
}

// take adds a step and returns the heads that are to be reported now, each once.
func (h *headRows) take(m *trainer.Measures) (report []trainer.Head) {
	h.steps++
	for _, head := range h.heads {
		rows := 0
		for i := range h.losses {
			if l := &h.losses[i]; l.Head == head && l.Weight > 0 {
				rows = max(rows, m.Losses[i].N)
			}
		}
		h.rows[head] += int64(rows)
		switch {
		case h.without[head] >= untaughtSteps: // told
		case rows > 0:
			h.without[head] = 0
		default:
			if h.without[head]++; h.without[head] == untaughtSteps {
				report = append(report, head)
			}
		}
	}
	return report
}

// untaught are the heads that no row of any step had a target for.
func (h *headRows) untaught() []trainer.Head {
	if h.steps == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(h.heads), func(head trainer.Head) bool { return h.rows[head] > 0 })
}

// writeUntaught names the heads that learnt nothing. A process that continued a
// training speaks of its own steps only.
func (s *Summary) writeUntaught(b *strings.Builder) {
	if len(s.Untaught) == 0 {
		return
	}
	since := ""
	if s.FirstStep > 0 {
		since = fmt.Sprintf(" since step %d", s.FirstStep)
	}
	names := make([]string, len(s.Untaught))
	for i, head := range s.Untaught {
		names[i] = string(head)
	}
	slices.Sort(names)
	fmt.Fprintf(b, "Not learnt%s: %s (no row had a target)\n", since, strings.Join(names, ", "))
}
