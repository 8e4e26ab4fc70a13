package setup

import (
	"math"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
)

// What the tools beside a training need of a configuration.

// RowSettings say how rows are drawn.
type RowSettings struct {
	Seed       uint64
	Symmetries bool    // a row is shown in one of its symmetries, drawn anew each time
	ShortTerm  float64 // theta of the short-term value target
	LoaderEnds bool    // the loader hands its data out a stated number of times
}

// RowSettingsOf returns how a configuration's training draws rows.
func RowSettingsOf(c *config.Config) RowSettings {
	s := RowSettings{Seed: c.GetSeed(), Symmetries: c.GetTraining().GetSymmetries(), ShortTerm: c.GetTraining().GetStTheta(), LoaderEnds: true}
	for _, st := range c.GetDataLoader().GetStage() {
		pool, chunks, files := st.GetShufflingChunkPool(), st.GetSimpleChunkExtractor(), st.GetFilePathProvider()
		if pool != nil && pool.GetEpochs() == 0 || chunks != nil && chunks.GetEpochs() == 0 || files.GetWatch() {
			s.LoaderEnds = false
		}
	}
	return s
}

// OpenTrainedNet is OpenNetPlayer on the device that a configuration trains on, in fp32.
func OpenTrainedNet(c *config.Config, net *nn.Net) (*NetPlayer, error) {
	on := config.Defaults()
	trainers, fp32 := "auto", config.SelfPlay_FP32
	on.Training.Device = c.GetTraining().Device
	on.Selfplay.ProducerDevice, on.Selfplay.Precision = &trainers, &fp32
	return OpenNetPlayer(on, net)
}

// GamesElsewhere are the directories that the configuration of a run names for games:
// those that it trains on and those that it plays. Either may be "", or in the run.
func GamesElsewhere(d run.Dir) []string {
	file, err := config.Load(d.ConfigFile())
	if err != nil {
		return nil // somebody else tells
	}
	return []string{file.Config.GetTraining().GetSourceDir(), file.Config.GetSelfplay().GetOutputDir()}
}

// Retention says what is kept of a run; 0 = all of it, but where it says otherwise.
type Retention struct {
	Shuffles int // the newest so many, at least 1
	Rejected int // nets, the newest so many; 0 = none
	Models   int // accepted nets, the newest so many
	GatePGNs int // games of so many matches of the gatekeeper, the newest
	GameRows int64
	GameDays float64
	MaxGiB   float64 // of games and shuffles
}

// RetentionOf returns what a configuration's section loop.retention keeps.
func RetentionOf(c *config.Config) Retention {
	r := c.GetLoop().GetRetention()
	return Retention{Shuffles: int(r.GetShuffles()), Rejected: int(r.GetRejected()), Models: int(r.GetModels()),
		GatePGNs: int(r.GetGatePgns()), GameRows: r.GetGameRows(), GameDays: r.GetGameDays(), MaxGiB: r.GetMaxGib()}
}

// MaxBytes is MaxGiB in bytes; 0 = no limit.
func (r Retention) MaxBytes() int64 { return int64(min(r.MaxGiB*(1<<30), math.MaxInt64/2)) }

// KeptCheckpoints is how many of its newest checkpoints the run at d keeps, at least 1.
func KeptCheckpoints(d run.Dir) (int, error) {
	file, err := config.Load(d.ConfigFile())
	if err != nil {
		return 0, err
	}
	return max(1, int(file.Config.GetTraining().GetCheckpoint().GetKeepLast())), nil
}
