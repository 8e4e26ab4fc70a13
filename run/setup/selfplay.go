package setup

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/selfplay"
)

// SelfPlay is what a process that plays takes from a configuration, besides its games
// (WorkerConfig) and its stages.
type SelfPlay struct {
	Dir     run.Dir
	Job     string
	Seed    uint64
	Workers int
	Models  string        // directory of the nets that play; "" = those of the run's checkpoints
	Every   time.Duration // how often it reports its state

	Resign       selfplay.Resign
	MaxFalseRate float64 // of resignations
	Forms        GameForms
}

// GameForms say in which other forms games are written.
type GameForms struct {
	PGNShare  float64 // of the games that are written as PGN, [0,1]
	LC0Chunks bool    // every game as a chunk of Leela's records too
}

// GameFormsOf returns the forms that a configuration asks for.
func GameFormsOf(c *config.Config) GameForms {
	return GameForms{PGNShare: c.GetSelfplay().GetPgnShare(), LC0Chunks: c.GetSelfplay().GetLc0Chunks()}
}

// SelfPlayOf returns how a configuration's run is played, or what cannot work of it.
func SelfPlayOf(e *config.Effective) (SelfPlay, error) {
	if err := CheckConfig(e); err != nil {
		return SelfPlay{}, err
	}
	c := e.Config
	dir, info, err := Layout(c)
	if err != nil {
		return SelfPlay{}, err
	}
	s := c.GetSelfplay()
	dir.Games = s.GetOutputDir()
	p := SelfPlay{Dir: dir, Job: info.Job, Seed: c.GetSeed(), Workers: Producers(s), Models: s.GetModelsDir(), Every: ReportEvery(c),
		Resign: ResignOf(s.GetResign()), MaxFalseRate: s.GetResign().GetMaxFalseRate(), Forms: GameFormsOf(c)}
	p.Workers = cmp.Or(p.Workers, runtime.GOMAXPROCS(0)) // no number is said: 0 is about those beside a trainer
	return p, nil
}

// Producers returns how many goroutines play beside a trainer; with 0 it plays itself,
// between its steps.
func Producers(s *config.SelfPlay) int {
	if s.GetProducerOnEachCore() {
		return runtime.GOMAXPROCS(0)
	}
	return int(s.GetProducerWorkers())
}

// TakesPlayers says whether games of other processes enter a training: where it plays none
// itself, or where its own players play beside it. Games that it plays between its steps
// come in an order that theirs would break.
func TakesPlayers(c *config.Config) bool {
	t := c.GetTraining()
	return t.GetSource() == config.Training_DIR || t.GetSource() == config.Training_SELFPLAY && t.GetData() == "" && Producers(c.GetSelfplay()) > 0
}

// OwnModels says whether a directory of nets is the run's own, which is made where it
// is not there: an asynchronous run begins with self-play.
func OwnModels(dir run.Dir, models string) bool { return filepath.Clean(models) == dir.Models() }

// CheckModels refuses a directory of nets that is not there.
func CheckModels(e *config.Effective, dir run.Dir) error {
	models := e.Config.GetSelfplay().GetModelsDir()
	if info, err := os.Stat(models); models != "" && !OwnModels(dir, models) && (err != nil || !info.IsDir()) {
		if err == nil {
			return e.Errorf("selfplay.models_dir", "name a directory of nets; --net plays a file", "it is a file")
		}
		return e.Errorf("selfplay.models_dir", "make the directory; while it is empty, random weights play", "no such directory")
	}
	return nil
}

// GamesAreFunctions says whether net, seed and number decide a game of a configuration,
// and nothing that came before it: no resignation that follows false ones, no course, no
// rescorer, no answer that was given to a like position.
func GamesAreFunctions(c *config.Config) bool {
	s := c.GetSelfplay()
	return s.GetResign().GetQ() <= -1 && s.GetOpenings().GetOrder() != config.Openings_MASTERY && len(c.GetPlugins().GetRescorer()) == 0 &&
		c.GetMcts().GetCacheHistory() == encoding.HistoryLen-1
}
