package gate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// DryRun checks a configuration and says what a gatekeeper would do now. It
// creates nothing.
func DryRun(e *config.Effective, dirs Dirs, w io.Writer) error {
	if err := Check(e); err != nil {
		return err
	}
	dir, info, err := setup.Layout(e.Config)
	if err != nil {
		return err
	}
	k := e.Config.GetLoop().GetGatekeeper()
	dirs = dirsOf(dir.Root, dirs)
	candidates, err := run.ListNets(dirs.Test)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	accepted, err := newestAccepted(dirs.Accepted)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	baseline := RandomNet + fmt.Sprintf(" (random weights, seed %d)", info.Seed)
	if accepted != nil {
		baseline = accepted.Path
	}
	workers := int(k.GetWorkers())
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	fmt.Fprintf(w, "%s\ngatekeeper of %s (dry run: nothing is created)\n", e.Format(), dir.Root)
	fmt.Fprintf(w, "nets to test: %d in %s\n", len(candidates), dirs.Test)
	for i := range candidates {
		note := ""
		if accepted != nil && candidates[i].Older(accepted) && !k.GetTestOlder() {
			note = ": older than the newest accepted net, would be rejected"
		}
		fmt.Fprintf(w, "  %s%s\n", candidates[i].Name, note)
	}
	fmt.Fprintf(w, "baseline: %s\n", baseline)
	fmt.Fprintf(w, "match: at most %d games of %d visits with %d workers, decided by %s\n", k.GetGames(), k.GetVisits(), workers, ruleOf(k))
	_, err = fmt.Fprintf(w, "accepted -> %s, rejected -> %s, games -> %s\n", dirs.Accepted, dirs.Rejected, dirs.Matches)
	return err
}
