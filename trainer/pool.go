package trainer

import (
	"runtime"
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
	numWorkers int
	jobs       []chan *job // one per worker beside the caller; closed by close
	done       sync.WaitGroup
	closeOnce  sync.Once
}

// spins is how often a waiting goroutine looks again before it sleeps, some 0.2
// ms in all: a step has dozens of barriers, and a sleeper's waking costs more than
// most waits. Each time it lets another goroutine run, so that only idle time is
// spent.
const spins = 1000

// job is one call of run: tasks are handed out by an atomic counter.
type job struct {
	next     atomic.Int64
	numTasks int
	task     func(i, worker int)
	left     atomic.Int64 // helpers at work
	pending  sync.WaitGroup
}

func (j *job) work(worker int) {
	for {
		i := int(j.next.Add(1)) - 1
		if i >= j.numTasks {
			return
		}
		j.task(i, worker)
	}
}

func newPool(numWorkers int) *pool {
	p := &pool{numWorkers: numWorkers}
	for w := 1; w < numWorkers; w++ {
		jobs := make(chan *job, 1)
		p.jobs = append(p.jobs, jobs)
		p.done.Add(1)
		go func() {
			defer p.done.Done()
			for j := receive(jobs); j != nil; j = receive(jobs) {
				j.work(w)
				j.left.Add(-1)
				j.pending.Done()
			}
		}()
	}
	return p
}

// receive returns the next job, nil once jobs is closed.
func receive(jobs chan *job) *job {
	for range spins {
		select {
		case j := <-jobs:
			return j
		default:
			runtime.Gosched()
		}
	}
	return <-jobs
}

// run calls task(i, worker) for i in [0, numTasks), each once, and returns when
// all have ended. worker in [0, numWorkers) tells concurrent calls apart, for
// scratch memory.
func (p *pool) run(numTasks int, task func(i, worker int)) {
	j := &job{numTasks: numTasks, task: task}
	helpers := max(0, min(len(p.jobs), numTasks-1))
	j.left.Store(int64(helpers))
	for w := range helpers {
		j.pending.Add(1)
		p.jobs[w] <- j
	}
	j.work(0)
	for i := 0; i < spins && j.left.Load() > 0; i++ {
		runtime.Gosched()
	}
	j.pending.Wait()
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
