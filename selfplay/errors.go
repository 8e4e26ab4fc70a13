package selfplay

import "errors"

var (
	// ErrStopped says that the context was cancelled while games were wanted or
	// under way. Everything handed to the sink before is whole. The games under
	// way are had from Worker.Unfinished; one that is dropped instead leaves its
	// ordinal unused, which gives the same game again with the same net. It wraps
	// the context's cause.
	ErrStopped = errors.New("self-play stopped")

	// ErrEvaluation says that the evaluator answered with numbers that are not
	// finite or not probabilities. No game was played on with them.
	ErrEvaluation = errors.New("evaluator gave an unusable answer")

	// ErrUnfinished says that bytes are not an unfinished game of this version of
	// the program, or that the game belongs to another run.
	ErrUnfinished = errors.New("unusable unfinished game")
)
