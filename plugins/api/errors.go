package api

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var (
	// ErrAnswer marks errors about an answer that breaks the protocol: a wrong
	// number of outcomes, a row that is not in the index, a bad file name. The
	// plugin cannot be trusted to go on from there.
	ErrAnswer = errors.New("wrong answer")

	// ErrEnded says that a stream was ended by the plugin, or with it, while
	// something was sent on it. What the plugin said of it comes from Recv.
	ErrEnded = errors.New("the stream has ended")
)

// wrongAnswer returns an error that wraps ErrAnswer.
func wrongAnswer(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrAnswer, fmt.Errorf(format, args...))
}

// callError is a failed call, told without gRPC's decoration.
type callError struct {
	text  string
	cause []error
}

func (e *callError) Error() string { return e.text }

// Unwrap returns the gRPC status and what it stands for.
func (e *callError) Unwrap() []error { return e.cause }

// explain says what was tried and what came of it. The result wraps err, which
// holds a gRPC status, and the context's errors where the status means them.
func explain(did string, err error) error {
	if err == nil {
		return nil
	}
	st, ok := status.FromError(err)
	if !ok {
		return fmt.Errorf("%s: %w", did, err)
	}
	e := &callError{text: fmt.Sprintf("%s: %s", did, st.Message()), cause: []error{err}}
	switch st.Code() {
	case codes.Canceled:
		e.text, e.cause = did+": cancelled", append(e.cause, context.Canceled)
	case codes.DeadlineExceeded:
		e.text, e.cause = did+": no answer in time", append(e.cause, context.DeadlineExceeded)
	case codes.Unavailable:
		e.text = fmt.Sprintf("%s: the plugin is not there any more: %s", did, st.Message())
	case codes.Unimplemented:
		e.text = fmt.Sprintf("%s: the plugin does not serve that: %s", did, st.Message())
	}
	return e
}

// panicError is the panic of a stage in the plugin's process.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// refuse turns a stage's error into a gRPC status of the given code, unless the
// error has a status or is a context's.
func refuse(code codes.Code, err error) error {
	var p *panicError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p):
		code = codes.Internal
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	default:
		if s, ok := err.(interface{ GRPCStatus() *status.Status }); ok {
			return s.GRPCStatus().Err()
		}
	}
	return status.Error(code, err.Error())
}
