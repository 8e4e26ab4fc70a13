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
	losses []trainer.Loss // of the trainer's configuration
	steps  int            // of this process
	heads  []*headCount   // that have a loss of a weight above 0, in the order of losses
}

// headCount is one head's part.
type headCount struct {
	head    trainer.Head
	rows    int64 // with a known target, of all steps
	without int   // steps since the last of them
	told    bool
}

func newHeadRows(losses []trainer.Loss) *headRows {
	h := &headRows{losses: losses}
	for i := range losses {
		l := &losses[i]
		if l.Head != trainer.HeadWeights && l.Weight > 0 && h.count(l.Head) == nil {
			h.heads = append(h.heads, &headCount{head: l.Head})
		}
	}
	return h
}

// count returns the head's part, nil for a head that does not learn.
func (h *headRows) count(head trainer.Head) *headCount {
	for _, c := range h.heads {
		if c.head == head {
			return c
		}
	}
	return nil
}

// take adds a step and returns the heads that are to be reported now, each once.
func (h *headRows) take(m *trainer.Measures) (report []trainer.Head) {
	h.steps++
	for _, c := range h.heads {
		rows := 0
		for i := range h.losses {
			if l := &h.losses[i]; l.Head == c.head && l.Weight > 0 {
				rows = max(rows, m.Losses[i].N)
			}
		}
		c.rows += int64(rows)
		if c.without++; rows > 0 {
			c.without = 0
		}
		if c.without >= untaughtSteps && !c.told {
			c.told, report = true, append(report, c.head)
		}
	}
	return report
}

// untaught are the heads that no row of any step had a target for.
func (h *headRows) untaught() (heads []trainer.Head) {
	for _, c := range h.heads {
		if h.steps > 0 && c.rows == 0 {
			heads = append(heads, c.head)
		}
	}
	return heads
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
