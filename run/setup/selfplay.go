package setup

import (
	"os"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run"
)

// OwnModels says whether a directory of nets is the run's own, which is made where it
// is not there: an asynchronous run begins with self-play.
func OwnModels(dir run.Dir, models string) bool { return filepath.Clean(models) == dir.Models() }

// CheckModels refuses a directory of nets that is not there.
func CheckModels(e *config.Effective, dir run.Dir) error {
	models := e.Config.GetSelfplay().GetModelsDir()
	if info, err := os.Stat(models); models != "" && !OwnModels(dir, models) && (err != nil || !info.IsDir()) {
		return e.Errorf("selfplay.models_dir", "make the directory; while it is empty, random weights play", "no such directory")
	}
	return nil
}
