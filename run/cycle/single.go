package cycle

import (
	"context"
	"fmt"
	"slices"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/typo"
	"github.com/chessbrain/chessbrain/replay/shuffle"
)

// Exit codes of a single stage beside those of all commands: a script goes by them.
const (
	ExitOrder   = 2                 // another stage is next
	ExitAgain   = shuffle.ExitShort // too few rows: self-play is next
	ExitStopped = 7                 // a stop condition holds: nothing is to be done any more
)

// StageError says why a single stage was not done.
type StageError struct {
	Reason string
	Code   int // ExitOrder, ExitAgain or ExitStopped
}

func (e *StageError) Error() string { return e.Reason }

// ExitCode is the code with which the program ends.
func (e *StageError) ExitCode() int { return e.Code }

// ParseStage reads the name of a stage.
func ParseStage(name string) (Stage, error) {
	if !slices.Contains(Stages, Stage(name)) {
		return "", &config.Error{Where: "--stage " + name, Reason: fmt.Sprintf("unknown stage; known: %v%s", Stages, typo.Meant(name, Stages...)), Remedy: "see chessbrain run --help"}
	}
	return Stage(name), nil
}

// inOrder refuses a stage that is neither done nor next.
func (l *loop) inOrder(want Stage) error {
	i := slices.IndexFunc(Stages, func(stage Stage) bool { return stage == want || !l.state.done[stage] && l.off(stage) == "" })
	if next := Stages[i]; next != want && !l.state.done[want] {
		return &StageError{fmt.Sprintf("stage %s is not next: cycle %d goes on with %s (chessbrain run --stage %s)", want, l.state.Cycle, next, next), ExitOrder}
	}
	return nil
}

// single does one stage if the journal has it next, and ends the cycle after its
// last one. Nothing is done again that has ended in this cycle: a script that was
// killed begins its list anew, and may leave out what the configuration has off.
func (l *loop) single(ctx context.Context, want Stage) error {
	s := l.state
	if _, ok := s.Next(); !ok { // a kill came before the cycle's last line
		if err := l.finish(); err != nil {
			return err
		}
	}
	cycle := s.Cycle
	if s.done[want] {
		l.summary.said = fmt.Sprintf("%s is done already in cycle %d", want, cycle)
		return nil
	}
	if err := l.inOrder(want); err != nil {
		return err
	}
	for _, stage := range Stages[:slices.Index(Stages, want)] { // done, or off: the journal says why
		if _, err := l.begin(stage); err != nil {
			return err
		}
	}
	stop, err := one(ctx, l, want, l.works[want])
	if err != nil {
		return err
	}
	if stop != "" {
		l.summary.Reason = stop
		return &StageError{"the run is done: " + stop, ExitStopped}
	}
	if l.again != "" {
		return &StageError{l.again, ExitAgain}
	}
	l.summary.said = fmt.Sprintf("%s of cycle %d is done", want, cycle)
	if reason := s.Last[want].Reason; reason != "" {
		l.summary.said = fmt.Sprintf("%s of cycle %d had nothing to do: %s", want, cycle, reason)
	}
	if _, more := s.Next(); !more {
		return l.finish()
	}
	return nil
}
