package train

// workspace is a worker's memory for what a layer computes of one group of boards, or of
// a slice.
type workspace struct {
	floats     []float32
	used, need int
}

// begin gives all memory back.
func (w *workspace) begin() {
	if w.need > len(w.floats) {
		w.floats = make([]float32, w.need)
	}
	w.used, w.need = 0, 0
}

// take returns n floats with any contents, until begin.
func (w *workspace) take(n int) []float32 {
	w.need += n
	if w.used+n > len(w.floats) {
		return make([]float32, n)
	}
	w.used += n
	return w.floats[w.used-n : w.used : w.used]
}

// workspace returns that of the worker, empty.
func (e *engine) workspace(s span) *workspace {
	w := &e.workspaces[s.worker]
	w.begin()
	return w
}

// sliceSpace returns another of the worker, empty, which lasts from a slice's begin to its end.
func (e *engine) sliceSpace(s span) *workspace {
	w := &e.sliceSpaces[s.worker]
	w.begin()
	return w
}
