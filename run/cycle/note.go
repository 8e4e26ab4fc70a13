package cycle

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/shuffle"
)

// NoteHelp says what Note takes and answers.
const NoteHelp = `begin:STAGE      answers "run FLAGS" (do the stage, with these flags added), "done" (it has ended in this
                 cycle) or "stop REASON" (a stop condition holds)
end:STAGE:CODE   writes how a stage ended, by its exit code: "ok"; "again WORDS" where self-play goes on
                 before the shuffle is tried again; "skip WORDS" where there was nothing to do
begin:cycle      a start of the script begins or goes on with a cycle: "ok"
end:cycle        all stages of the cycle are done: "ok"
STAGE is gatekeeper, rating, selfplay, shuffle, train, export or gc.`

// Note reads or writes the journal of the run for a script that does the stages
// itself, and returns the line that answers. Nobody else may work on the journal at
// that moment (*fsx.LockedError).
func Note(ctx context.Context, e *config.Effective, command, note string) (answer string, err error) {
	what, stage, code, err := parseNote(note)
	if err != nil {
		return "", err
	}
	settled, err := Settle(e)
	if err != nil {
		return "", err
	}
	locks, err := lock(settled.Config.GetRunDir(), command, loopRole)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, release(locks)) }()
	d, err := openDesk(settled.Config)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	switch {
	case what == Begin && stage == Whole:
		return "ok", d.start()
	case what == Begin:
		return d.answerBegin(stage)
	case stage == Whole:
		return "ok", d.finish()
	}
	return d.answerEnd(ctx, stage, code)
}

// parseNote reads begin:STAGE or end:STAGE:CODE. Its errors have exit code 2.
func parseNote(note string) (what Event, stage Stage, code int, err error) {
	wrong := func(format string, args ...any) error {
		return &config.Error{Where: "--note " + note, Reason: fmt.Sprintf(format, args...), Remedy: "see chessbrain run --help"}
	}
	parts := append(strings.Split(note, ":"), "", "")
	what, stage = Event(parts[0]), Stage(parts[1])
	withCode := what == End && stage != Whole
	switch {
	case what != Begin && what != End:
		return "", "", 0, wrong("want begin:STAGE or end:STAGE:CODE")
	case stage != Whole && !slices.Contains(Stages, stage):
		return "", "", 0, wrong("unknown stage %q; known: %v", stage, append(slices.Clone(Stages), Whole))
	case !withCode && len(parts) != 4 || withCode && len(parts) != 5:
		return "", "", 0, wrong("want begin:STAGE, end:STAGE:CODE, begin:cycle or end:cycle")
	}
	if withCode {
		if code, err = strconv.Atoi(parts[2]); err != nil || code != 0 && code != shuffle.ExitShort {
			return "", "", 0, wrong("a stage ends with exit code 0 or %d; with another one it is not over", shuffle.ExitShort)
		}
	}
	return what, stage, code, nil
}

func (d *desk) answerBegin(stage Stage) (string, error) {
	todo, err := d.begin(stage)
	switch {
	case err != nil:
		return "", err
	case todo.Stop != "":
		return "stop " + todo.Stop, nil
	case todo.Done:
		return "done", nil
	case stage == Rating && d.cfg.GetLoop().GetRating().GetGames() > 0:
		return fmt.Sprintf("run --play --games %d", d.cfg.GetLoop().GetRating().GetGames()), nil // without, the list alone is made
	case stage == SelfPlay:
		return fmt.Sprintf("run --process %d --max-games-total %d", todo.Process, todo.Games), nil
	case stage == Shuffle:
		w, s := d.cfg.GetLoop().GetShuffle(), shuffleSettings(d.cfg)
		return fmt.Sprintf("run --min-rows %d --max-rows %d --keep-target-rows %d --expand-window-per-row %g --taper-window-exponent %g "+
			"--taper-window-scale %d --add-to-data-rows %d --approx-rows-per-file %d --seed %d --validation-share %g --st-theta %g",
			w.GetMinRows(), w.GetMaxRows(), w.GetKeepTargetRows(), w.GetExpandWindowPerRow(), w.GetTaperWindowExponent(),
			w.GetTaperWindowScale(), w.GetAddToDataRows(), w.GetApproxRowsPerFile(), s.Seed, s.Validation, s.ShortTerm), nil
	case stage == Train:
		return fmt.Sprintf("run --max-epochs-this-instance %d", todo.Epochs), nil
	}
	return "run", nil
}

func (d *desk) answerEnd(ctx context.Context, stage Stage, code int) (string, error) {
	if code == 0 {
		return "ok", d.end(stage, "")
	}
	if stage == Shuffle {
		_, err := shuffle.MakePlan(ctx, d.shuffleOptions(time.Now()))
		short, ok := errors.AsType[*shuffle.ShortError](err)
		if !ok {
			return "", errors.Join(errors.New("there are enough rows for a shuffle now; run it again"), err)
		}
		words, more, err := d.short(short)
		if more > 0 {
			return "again " + words, err
		}
		return "skip " + words, err
	}
	const words = "not enough rows yet"
	return "skip " + words, d.end(stage, words)
}

// lock takes roles of the run at root, all exclusively and in their order.
func lock(root, command string, roles ...string) (locks []*fsx.Lock, err error) {
	dir := filepath.Join(root, locksDir)
	if err := fsx.MkdirAll(fsx.OS, dir); err != nil {
		return nil, fmt.Errorf("make run directory: %w", err)
	}
	for _, role := range roles {
		l, err := fsx.Acquire(filepath.Join(dir, role), fsx.LockOptions{Command: command})
		if err != nil {
			return nil, errors.Join(err, release(locks))
		}
		locks = append(locks, l)
	}
	return locks, nil
}

// release gives locks up, the newest first.
func release(locks []*fsx.Lock) error {
	var errs []error
	for _, l := range slices.Backward(locks) {
		errs = append(errs, l.Release())
	}
	return errors.Join(errs...)
}
