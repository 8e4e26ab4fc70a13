package chess

import "fmt"

// FENError says which field of a FEN was refused and why.
type FENError struct {
	Field  string // "board", "side", "castling", "en passant", "halfmove clock", "fullmove number" or "fields"
	Text   string // the refused field as given
	Reason string
}

// Error implements error.
func (e *FENError) Error() string {
	return fmt.Sprintf("FEN %s %q: %s", e.Field, e.Text, e.Reason)
}

// MoveError says why a move text was refused.
type MoveError struct {
	Notation string // "UCI" or "SAN"
	Text     string // the refused text as given
	FEN      string // the position that it was read in
	Reason   string // "malformed", "illegal", "ambiguous", with details
}

// Error implements error.
func (e *MoveError) Error() string {
	return fmt.Sprintf("%s move %q in %q: %s", e.Notation, e.Text, e.FEN, e.Reason)
}
