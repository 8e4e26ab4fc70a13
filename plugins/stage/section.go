package stage

import "io"

// Section is a named, versioned part of a checkpoint that its owner saves and
// loads. What Save writes decides everything that the owner does next: after
// Load of the same bytes it goes on bit for bit as before.
type Section struct {
	Name    string // unique in a checkpoint; [a-z0-9_.-]
	Version int    // of what Save writes

	// Save writes the state.
	Save func(w io.Writer) error

	// Load replaces the state by what Save wrote at the given version. On error
	// the state is unchanged. A version that it does not know is an error.
	Load func(r io.Reader, version int) error
}
