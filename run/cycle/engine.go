package cycle

import "context"

// Todo is what the book says of a stage that is about to begin.
type Todo struct {
	Cycle   int64
	Done    bool   // it has ended: nothing is to be done
	Stop    string // a stop condition holds: nothing is to be done any more
	Process uint64 // self-play: number of its process
	Games   int64  // self-play: games of that process in all
	Epochs  int64  // training: epochs that this start may do at most
}

// Work does a stage. skip says why there was nothing to do, "" where it was done.
// An error leaves the stage under way: the next start does it again, so a work goes
// on where its own files say.
type Work func(ctx context.Context, t Todo) (skip string, err error)

// Book keeps on disk which stages are done. It alone decides what is next, so that
// a process that was killed and one that was stopped go on in the same way.
type Book interface {
	// Next is the stage to be done; ok is false where all are done.
	Next() (stage Stage, work Work, ok bool)
	// Begin notes that a stage begins, or says that it must not.
	Begin(stage Stage) (Todo, error)
	// End notes how a stage ended that Begin had begun. It returns err where that
	// ends the work.
	End(stage Stage, skip string, err error) error
}

// Do does the stages that the book has next, until all are done or a stop condition
// holds, which it returns. The error is that of the context, the book or a stage.
func Do(ctx context.Context, b Book) (stop string, err error) {
	for {
		stage, work, ok := b.Next()
		if !ok {
			return "", nil
		}
		if stop, err := one(ctx, b, stage, work); err != nil || stop != "" {
			return stop, err
		}
	}
}

func one(ctx context.Context, b Book, stage Stage, work Work) (stop string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	todo, err := b.Begin(stage)
	if err != nil || todo.Stop != "" || todo.Done {
		return todo.Stop, err
	}
	skip, err := work(ctx, todo)
	return "", b.End(stage, skip, err)
}
