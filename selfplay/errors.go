package selfplay

import "errors"

var (
	// ErrStopped says that the context was cancelled and that unfinished games
	// were abandoned. Everything handed to the sink before is whole; an
	// abandoned game's ordinal was not used and may be handed out again, where
	// it gives the same game with the same net. It wraps the context's cause.
	ErrStopped = errors.New("self-play stopped")

	// ErrEvaluation says that the evaluator answered with numbers that are not
	// finite or not probabilities. No game was played on with them.
	ErrEvaluation = errors.New("evaluator gave an unusable answer")
)
