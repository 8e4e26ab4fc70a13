//go:build linux || darwin

package emulated

import "slices"

// task is work on a stream: it runs once, after the tasks before it on the stream
// and after the one that it waits for.
type task struct {
	run   func() error // null: nothing to do
	after *task        // of another stream; null: none
	done  bool
}

// push puts t on s. Streams run at once, or when a synchronisation needs it.
func (d *device) push(s *stream, t *task) {
	s.queue = append(s.queue, t)
	if !d.shuffled {
		d.drain(t)
	}
}

// runnable returns the stream's next task if it may run now.
func (s *stream) runnable() *task {
	if len(s.queue) == 0 || s.queue[0].after != nil && !s.queue[0].after.done {
		return nil
	}
	return s.queue[0]
}

// drain runs tasks until the one wanted is done, or all where that is null. Which
// others run before it is drawn: none that need not, some, or all that can.
func (d *device) drain(wanted *task) {
	appetite := d.random.IntN(3)
	for wanted == nil || !wanted.done {
		var ready, needed []*stream
		for _, s := range d.streams {
			if s.runnable() == nil {
				continue
			}
			ready = append(ready, s)
			if d.needs(wanted, s) {
				needed = append(needed, s)
			}
		}
		if len(ready) == 0 {
			return // what is wanted can only wait for work that is not there: impossible by construction
		}
		from := ready
		switch others := slices.DeleteFunc(slices.Clone(ready), func(s *stream) bool { return slices.Contains(needed, s) }); {
		case appetite == 0 && len(needed) > 0:
			from = needed
		case appetite == 2 && len(others) > 0:
			from = others
		}
		s := from[d.random.IntN(len(from))]
		t := s.queue[0]
		s.queue = s.queue[1:]
		if t.run != nil && d.failed == nil {
			if err := t.run(); err != nil {
				d.failed = err
			}
		}
		t.done = true
	}
}

// needs reports whether the head of s must run before wanted can.
func (d *device) needs(wanted *task, s *stream) bool {
	if wanted == nil {
		return true
	}
	for _, other := range d.streams {
		at := slices.Index(other.queue, wanted)
		if at < 0 {
			continue
		}
		if other == s {
			return true
		}
		for _, t := range other.queue[:at+1] {
			if t.after != nil && !t.after.done && d.needs(t.after, s) {
				return true
			}
		}
	}
	return false
}
