package setup

import "github.com/chessbrain/chessbrain/internal/config"

// RowUse is what a training by a configuration does with rows.
type RowUse struct {
	Step       int64 // rows of an optimizer step
	Steps      int64 // optimizer steps; 0 = no such limit
	Validation float64
	ShortTerm  float64 // theta of the short-term value
}

// RowUseOf reads it from a configuration.
func RowUseOf(e *config.Effective) RowUse {
	t := e.Config.GetTraining()
	return RowUse{Step: int64(t.GetBatchSize()) * int64(t.GetGradAccumSteps()), Steps: t.GetSteps(),
		Validation: t.GetValidation().GetShare(), ShortTerm: t.GetStTheta()}
}

// StepsFor is the number of optimizer steps that see so many rows.
func (u RowUse) StepsFor(rows int64) int64 { return (rows + u.Step - 1) / u.Step }
