package trainer

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
	numWorkers int
	jobs       []chan *job // one per worker beside the caller; closed by close
	done       sync.WaitGroup
	closeOnce  sync.Once
}

// job is one call of run: tasks are handed out by an atomic counter.
type job struct {
	next     atomic.Int64
	numTasks int
	task     func(i, worker int)
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
			for j := range jobs {
				j.work(w)
				j.pending.Done()
			}
		}()
	}
	return p
}

// run calls task(i, worker) for i in [0, numTasks), each once, and returns when
// all have ended. worker in [0, numWorkers) tells concurrent calls apart, for
// scratch memory.
func (p *pool) run(numTasks int, task func(i, worker int)) {
	j := &job{numTasks: numTasks, task: task}
	helpers := min(len(p.jobs), numTasks-1)
	for w := range helpers {
		j.pending.Add(1)
		p.jobs[w] <- j
	}
	j.work(0)
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
