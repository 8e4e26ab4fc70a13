package train

// phase is work on the micro-batch between two barriers: on each slice begin, then
// group by group, then end. Any of them may be nil. at is the number of the
// group's first board in the slice.
type phase struct {
	begin func(s span)
	group func(g span, at int)
	end   func(s span)
}

// together is the phase that does the work of several, group by group, so that
// what they all read comes from memory once.
func together(phases []phase) phase {
	return phase{
		begin: func(s span) {
			for _, p := range phases {
				if p.begin != nil {
					p.begin(s)
				}
			}
		},
		group: func(g span, at int) {
			for _, p := range phases {
				if p.group != nil {
					p.group(g, at)
				}
			}
		},
		end: func(s span) {
			for _, p := range phases {
				if p.end != nil {
					p.end(s)
				}
			}
		},
	}
}

// passes is a layer's forward or backward pass: a first phase, what needs the sums
// of the whole micro-batch, and a last phase.
type passes struct {
	first  phase
	settle func()
	last   phase
}

// carry leaves p to the next phase, which does each group's part of it before its
// own: p must need no other group's results. The layer's output is complete only
// where the next phase reads it, in the core's cache. grads, if not nil, are the
// weight gradients that p completes.
func (e *engine) carry(p phase, grads *weightGrads) { e.carried, e.carriedGrads = p, grads }

// complete does what was carried at once: the begin of the next phase reads what it writes.
func (e *engine) complete() {
	if e.carried.group != nil {
		e.run(phase{})
	}
}

// run does what was carried and p over the worker pool. Weight gradients that are
// due are summed beside it.
func (e *engine) run(p phase) {
	grads := e.carriedGrads
	if e.carried.group != nil {
		p = together([]phase{e.carried, p})
		e.carry(phase{}, nil)
	}
	slices := e.numSlices()
	e.pool.run(slices+len(e.due), func(i, worker int) {
		if i >= slices {
			e.due[i-slices].sum()
			return
		}
		lo := i * e.slice
		s := span{i, worker, lo, min(e.slice, e.boards-lo)}
		if p.begin != nil {
			p.begin(s)
		}
		for at := 0; p.group != nil && at < s.n; at += groupBoards {
			p.group(span{i, worker, lo + at, min(groupBoards, s.n-at)}, at)
		}
		if p.end != nil {
			p.end(s)
		}
	})
	e.due = e.due[:0]
	if grads != nil {
		grads.reduce()
	}
}

// finish sums the weight gradients that are due.
func (e *engine) finish() {
	e.pool.run(len(e.due), func(i, _ int) { e.due[i].sum() })
	e.due = e.due[:0]
}
