package trainer

// term is one configured loss of a head and what was measured of it.
type term struct {
	Loss
	tallies []tally // by slice
	hits    []tally // by slice: 1 where the likeliest outcome agrees
}

func (t *term) reset(slice int) { t.tallies[slice], t.hits[slice] = tally{}, tally{} }

// head is what the output layers share: the losses, and the objective.
type head struct {
	e     *engine
	terms []*term
}

func newHead(e *engine, losses []Loss) head {
	h := head{e: e}
	n := e.maxSlices()
	for _, l := range losses {
		h.terms = append(h.terms, &term{Loss: l, tallies: make([]tally, n), hits: make([]tally, n)})
	}
	return h
}

// objective is the head's part of the loss that is minimised: over the rows of
// the micro-batch, the mean of Weight*rowWeight*loss, unknown targets as 0.
func (h *head) objective() float64 {
	sum := 0.0
	for _, t := range h.terms {
		for s := range h.e.numSlices() {
			sum += t.Weight * t.tallies[s].wx
		}
	}
	return sum / float64(h.e.boards)
}

// gradScale is the factor of the gradient of term t's loss in row i.
func (h *head) gradScale(t *term, i int) float32 {
	return float32(h.e.lossScale * t.Weight * float64(h.e.batch.Weight[i]) / float64(h.e.boards))
}
