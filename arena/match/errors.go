package match

import "fmt"

// askedError is a fault of what was asked for; its text is the whole message.
type askedError struct{ error }

func (e askedError) Unwrap() error { return e.error }

// ExitCode is that of a usage error.
func (askedError) ExitCode() int { return 2 }

func askedf(format string, args ...any) error { return askedError{fmt.Errorf(format, args...)} }

// Interrupted says that a match was stopped.
type Interrupted struct {
	Played, Games int
	Logged        bool // the same command goes on
}

// Error implements error.
func (e *Interrupted) Error() string {
	text := fmt.Sprintf("match interrupted after %d of %d games; the result is theirs", e.Played, e.Games)
	if e.Logged {
		text += ", and the same command goes on"
	}
	return text
}

// ExitCode is that of work that was interrupted and kept.
func (*Interrupted) ExitCode() int { return 5 }
