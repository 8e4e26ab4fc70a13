package lc0

import "errors"

// Errors about network files.
var (
	// ErrCorrupt: the file is not what it says, or is damaged.
	ErrCorrupt = errors.New("corrupt Leela network file")
	// ErrUnsupported: a sound file of a net that this build does not know.
	ErrUnsupported = errors.New("Leela network not supported")
)

// Errors about training data.
var (
	// ErrCorruptRecord: the bytes are no training record of a known version, or
	// the chunk around it is damaged.
	ErrCorruptRecord = errors.New("corrupt Leela training record")
	// ErrNoGame: sound records that do not follow each other as the positions of
	// one game.
	ErrNoGame = errors.New("the records are not those of one game")
	// ErrNoResult: a game has no result, without which Leela's records cannot be.
	ErrNoResult = errors.New("the game was aborted and has no result")
)
