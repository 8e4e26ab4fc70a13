package monitor

import (
	"maps"
	"slices"
)

// Scalar is one number of a curve.
type Scalar struct {
	Tag   string // "train/policy_loss", ...
	Value float64
}

// Scalars returns the numbers of an event that belong on curves, and the x they
// stand at: optimizer steps, or episodes for the tags that begin with
// "selfplay/". It is the one place that names curves: TensorBoard files and
// plots take them from here. Events without curves give none. Order is fixed.
func Scalars(e Event) (x int64, scalars []Scalar) {
	add := func(tag string, v float64) { scalars = append(scalars, Scalar{tag, v}) }
	switch e := e.(type) {
	case *Step:
		lossScalars("train/", e.Losses, add)
		add("train/loss", float64(e.Loss))
		accuracyScalars("train/", e.PolicyEntropy, e.TargetEntropy, e.LegalEntropy, e.PolicyAcc, e.ValueAcc, add)
		add("train/lr", float64(e.LR))
		add("train/grad_norm", float64(e.GradNorm))
		add("train/loss_scale", float64(e.LossScale))
		add("train/skipped_total", float64(e.SkippedTotal))
		add("train/samples", float64(e.Samples))
		add("throughput/steps_s", float64(e.Rates.StepsPerSecond))
		add("throughput/rows_s", float64(e.Rates.RowsPerSecond))
		add("buffer/rows", float64(e.WindowRows))
		add("buffer/queue_depth", float64(e.QueueDepth))
		return e.Step, scalars
	case *Validation:
		prefix := "val/"
		if e.Weights != WeightsRaw {
			prefix = "val_" + e.Weights + "/"
		}
		e.scalars(prefix, add)
		return e.Step, scalars
	case *Measure:
		e.scalars("val_"+e.Name+"/", add)
		return e.Step, scalars
	case *Episode:
		add("selfplay/plies", float64(e.Plies))
		add("selfplay/mean_plies", float64(e.MeanPlies))
		add("selfplay/draw_share", float64(e.DrawShare))
		add("selfplay/white_result", float64(e.WhiteResult))
		add("selfplay/positions_s", float64(e.Rates.PositionsPerSecond))
		add("selfplay/evaluations_s", float64(e.Rates.EvaluationsPerSecond))
		add("selfplay/mean_batch", float64(e.Rates.MeanBatch))
		add("selfplay/cache_hit_rate", float64(e.Rates.CacheHitShare))
		for _, reason := range slices.Sorted(maps.Keys(e.Ends)) {
			add("selfplay/end/"+reason, float64(e.Ends[reason]))
		}
		return e.Episode, scalars
	case *SelfPlay:
		add("selfplay/mean_plies", float64(e.MeanPlies))
		add("selfplay/draw_share", e.Results.DrawShare())
		add("selfplay/positions_s", float64(e.Rates.PositionsPerSecond))
		add("selfplay/evaluations_s", float64(e.Rates.EvaluationsPerSecond))
		add("selfplay/visits_s", float64(e.VisitsPerSecond))
		add("selfplay/mean_batch", float64(e.Rates.MeanBatch))
		add("selfplay/cache_hit_rate", float64(e.Rates.CacheHitShare))
		add("selfplay/tree_share", float64(e.TreeShare))
		add("selfplay/network_share", float64(e.NetworkShare))
		for _, reason := range slices.Sorted(maps.Keys(e.Ends)) {
			add("selfplay/end/"+reason, float64(e.Ends[reason]))
		}
		return e.Games, scalars
	}
	return 0, nil
}

func (e *Validation) scalars(prefix string, add func(string, float64)) {
	lossScalars(prefix, e.Losses, add)
	accuracyScalars(prefix, e.PolicyEntropy, e.TargetEntropy, e.LegalEntropy, e.PolicyAcc, e.ValueAcc, add)
}

func lossScalars(prefix string, losses Numbers, add func(string, float64)) {
	for _, name := range losses.Names() {
		add(prefix+name, float64(losses[name]))
	}
}

func accuracyScalars(prefix string, policy, target, legal, policyAcc, valueAcc Number, add func(string, float64)) {
	add(prefix+"policy_entropy", float64(policy))
	add(prefix+"target_entropy", float64(target))
	add(prefix+"legal_entropy", float64(legal))
	add(prefix+"policy_accuracy", float64(policyAcc))
	add(prefix+"value_accuracy", float64(valueAcc))
}
