package loop

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/chessbrain/chessbrain/config"
)

const notInThisBuild = "not in this build"

// CheckConfig refuses what this build would otherwise ignore: settings whose
// code comes later, and settings that contradict each other. Its errors have
// exit code 2.
func CheckConfig(e *config.Effective) error {
	c := e.Config
	t := c.GetTraining()
	var errs []error
	refuse := func(bad bool, field, remedy, reason string) {
		if bad {
			errs = append(errs, e.Errorf(field, remedy, "%s", reason))
		}
	}
	refuse(c.GetSelfplay().GetTemperature().GetCutoffPly() > 0, "selfplay.temperature.cutoff_ply",
		"leave it at 0; plies and floor: 0 play the most visited move from a ply on", notInThisBuild)
	refuse(c.GetMcts().GetLeavesPerGame() > 1, "mcts.leaves_per_game", "leave it at 1; more games per worker make larger batches", notInThisBuild)
	if t.GetSource() == config.Training_SELFPLAY {
		refuse(t.GetSteps() > 0, "training.steps", "leave it away; selfplay.episodes says how long a run is", "has no meaning with source SELFPLAY")
		refuse(t.GetSourceDir() != "", "training.source_dir", "leave it away, or use source DIR", "has no meaning with source SELFPLAY")
	} else {
		refuse(c.GetDeterministic(), "deterministic", "use source SELFPLAY", "games of other processes come at any time")
	}
	x := c.GetExport()
	refuse(x.GetWeights() == config.Export_SWA && t.GetSwa().GetPeriod() == 0, "export.weights",
		"set training.swa.period, or take RAW", "there is no average to export")
	base := filepath.Base(filepath.FromSlash(x.GetPath()))
	refuse(strings.HasSuffix(x.GetPath(), "/") || strings.HasPrefix(base, "."), "export.path", "end it with a file name that begins with a letter", "names no file")
	return errors.Join(errs...)
}
