package match

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/chessbrain/chessbrain/arena"
)

// Openings say how the games of a match begin.
type Openings struct {
	File      string // of PGN games, or of FENs and EPDs; "" = the start position
	Plies     int    // random ones
	PliesSet  bool   // else none where there is a file
	BookPlies int    // of each PGN game; 0 = all
	Order     string // Sequential or Shuffled
}

// The orders of the openings in a file.
const (
	Sequential = "sequential"
	Shuffled   = "shuffled"
)

// validate says which flag is wrong, and resolves the defaults.
func (o *Openings) validate() error {
	switch {
	case o.Plies < 0 || o.Plies > 200:
		return askedf("--opening-plies %d: want 0 to 200", o.Plies)
	case o.BookPlies < 0:
		return askedf("--book-plies %d: want 0 (whole games) or more", o.BookPlies)
	case o.BookPlies > 0 && !arena.IsPGN(o.File):
		return askedf("--book-plies: is for --openings FILE.pgn")
	case o.Order != Sequential && o.Order != Shuffled:
		return askedf("--openings-order %q: want %s or %s", o.Order, Sequential, Shuffled)
	}
	if o.File != "" && !o.PliesSet {
		o.Plies = 0
	}
	return nil
}

// openings returns the openings of so many pairs, and what makes them, which does
// not depend on their number.
func (o *Openings) openings(pairs int, seed uint64) (openings []arena.Opening, source string, err error) {
	book, err := o.book()
	if err != nil {
		return nil, "", err
	}
	source = fmt.Sprintf("start position, %d random plies", o.Plies)
	if book != nil {
		source = fmt.Sprintf("book %s, %s, %d random plies", arena.HashOpenings(book), o.Order, o.Plies)
	}
	if o.Order == Shuffled {
		arena.Shuffle(book, seed)
	}
	openings, err = arena.Vary(book, pairs, o.Plies, seed)
	if err != nil {
		return nil, "", askedError{fmt.Errorf("%w (--games, --openings, --opening-plies)", err)}
	}
	return openings, source, nil
}

// book reads the file of openings; nil without one.
func (o *Openings) book() ([]arena.Opening, error) {
	if o.File == "" {
		return nil, nil
	}
	book, err := arena.ReadOpenings(o.File, o.BookPlies)
	if _, unread := errors.AsType[*fs.PathError](err); unread {
		return nil, fmt.Errorf("--openings: %w", err)
	}
	if err != nil {
		return nil, askedError{fmt.Errorf("--openings %w", err)}
	}
	return book, nil
}
