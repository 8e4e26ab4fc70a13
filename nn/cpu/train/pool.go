package train

import (
	"sync"
	"sync/atomic"
)

// sliceBoards returns how many boards one task of the pool handles where
// micro-batches have up to capacity: 32, so that a few workers find work in a
// small one; 64 in large ones, because each slice sums its weight gradients apart.
// Slices are fixed and reduced in their order, so results do not depend on the
// worker count.
func sliceBoards(capacity int) int {
	if capacity >= 256 {
		return 64
	}
	return 32
}

// pool is a fixed group of goroutines that share out the slices of a
// micro-batch. The caller of run is worker 0. One run at a time.
type pool struct {
	jobs      []chan *job // one per worker beside the caller; closed by close
	waits     patience    // the caller's
	done      sync.WaitGroup
	closeOnce sync.Once
}

// job is one call of run: tasks are handed out by an atomic counter. A helper that
// comes when the caller has done them all is turned away, so that nobody waits for
// a goroutine that other work keeps from running.
type job struct {
	next     atomic.Int64
	numTasks int
	task     func(i, worker int)
	helpers  atomic.Int64 // at work; plus jobClosed once no more are let in
	done     chan struct{}
}

const jobClosed = 1 << 32

func (j *job) work(worker int) {
	for {
		i := int(j.next.Add(1)) - 1
		if i >= j.numTasks {
			return
		}
		j.task(i, worker)
	}
}

// help works on j unless it is closed.
func (j *job) help(worker int) {
	if j.helpers.Add(1) <= jobClosed {
		j.work(worker)
	}
	if j.helpers.Add(-1) == jobClosed {
		select {
		case j.done <- struct{}{}:
		default: // turned away, and the caller knows
		}
	}
}

// finish closes j and returns when no helper is at work.
func (j *job) finish(waits *patience) {
	if j.helpers.Add(jobClosed) == jobClosed {
		return
	}
	over := func() bool { return j.helpers.Load() == jobClosed }
	ok, begun := waits.awaits(over)
	if ok {
		return
	}
	for !over() {
		<-j.done
	}
	waits.slept(begun)
}

func newPool(numWorkers int) *pool {
	p := &pool{waits: newPatience()}
	for w := 1; w < numWorkers; w++ {
		jobs := make(chan *job, 1)
		p.jobs = append(p.jobs, jobs)
		p.done.Go(func() {
			waits := newPatience()
			for j := receive(jobs, &waits); j != nil; j = receive(jobs, &waits) {
				j.help(w)
			}
		})
	}
	return p
}

// receive returns the next job, nil once jobs is closed.
func receive(jobs chan *job, waits *patience) (next *job) {
	ok, begun := waits.awaits(func() bool {
		select {
		case next = <-jobs:
			return true
		default:
			return false
		}
	})
	if !ok {
		next = <-jobs
		waits.slept(begun)
	}
	return next
}

// run calls task(i, worker) for i in [0, numTasks), each once, and returns when
// all have ended. worker in [0, numWorkers) tells concurrent calls apart, for
// scratch memory.
func (p *pool) run(numTasks int, task func(i, worker int)) {
	j := &job{numTasks: numTasks, task: task, done: make(chan struct{}, 1)}
	for w := range max(0, min(len(p.jobs), numTasks-1)) {
		select {
		case <-p.jobs[w]: // a closed job that the helper never took
		default:
		}
		p.jobs[w] <- j
	}
	j.work(0)
	j.finish(&p.waits)
}

// close ends the workers and waits for them. run must not be called again.
func (p *pool) close() {
	p.closeOnce.Do(func() {
		for _, jobs := range p.jobs {
			close(jobs)
		}
	})
	p.done.Wait()
}
