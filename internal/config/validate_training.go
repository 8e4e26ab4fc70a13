package config

import "slices"

// kindsOf lists the loss formulas that each head has.
var kindsOf = map[Loss_Head][]Loss_Kind{
	Loss_POLICY:     {Loss_CROSS_ENTROPY},
	Loss_VALUE:      {Loss_WDL_CROSS_ENTROPY, Loss_MSE},
	Loss_MOVES_LEFT: {Loss_HUBER},
	Loss_WEIGHTS:    {Loss_L2},
}

// validateTraining checks losses, learning-rate rules and warm-up.
func validateTraining(t *Training, complain complainFunc) {
	metrics, learns := map[string]bool{}, false
	for i, l := range t.GetLosses() {
		path := reasonf("training.losses[%d]", i)
		kinds := kindsOf[l.GetHead()]
		switch {
		case l.Head == nil || l.Kind == nil || l.GetMetric() == "":
			complain(path, "", "give it all three", "head, kind or metric is missing")
		case !slices.Contains(kinds, l.GetKind()):
			complain(path+".kind", l.GetKind().String(), "", "does not belong to head %v, which has %v", l.GetHead(), kinds)
		case metrics[l.GetMetric()]:
			complain(path+".metric", quote(l.GetMetric()), "give each loss its own name", "is there twice")
		}
		metrics[l.GetMetric()] = true
		learns = learns || l.GetHead() != Loss_WEIGHTS && l.GetWeight() > 0
	}
	if !learns {
		complain("training.losses", "", "see configs/example.textproto", "nothing to learn: no head has a loss with a weight above 0")
	}
	if t.GetWarmup().GetKatago() && t.GetWarmup().GetSteps() > 0 {
		complain("training.warmup", "", "keep one of the two", "steps and katago are both set")
	}
	starts, atZero := map[int64]bool{}, len(t.GetLrRule()) == 0
	for i, r := range t.GetLrRule() {
		path := reasonf("training.lr_rule[%d]", i)
		n, total := len(r.GetDurationSteps()), int64(0)
		for _, d := range r.GetDurationSteps() {
			total += d
		}
		switch {
		case len(r.GetLr()) == 0 || len(r.GetLr()) != n && len(r.GetLr()) != n+1:
			complain(path+".lr", "", "want as many, or one more", "%d learning rates for %d segments", len(r.GetLr()), n)
		case len(r.GetTransition()) > n:
			complain(path+".transition", "", "", "%d transitions for %d segments", len(r.GetTransition()), n)
		case r.GetLoop() && total == 0:
			complain(path+".loop", "true", "", "a loop of no steps")
		case starts[r.GetStartingStep()]:
			complain(path+".starting_step", "", "", "%d is there twice", r.GetStartingStep())
		}
		starts[r.GetStartingStep()] = true
		atZero = atZero || r.GetStartingStep() == 0
	}
	if !atZero {
		complain("training.lr_rule", "", "let one rule have starting_step 0", "no rule holds at step 0")
	}
}
