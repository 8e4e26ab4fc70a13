package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/selfplay"
)

// openingFlags are the flags of a match that say how its games begin.
type openingFlags struct {
	file      string
	plies     int // random ones
	pliesSet  bool
	bookPlies int
	order     string
}

// The orders of --openings-order.
const (
	orderSequential = "sequential"
	orderShuffled   = "shuffled"
)

// validate says which flag is wrong, and resolves the defaults.
func (o *openingFlags) validate() error {
	switch {
	case o.plies < 0 || o.plies > 200:
		return usagef("--opening-plies %d: want 0 to 200", o.plies)
	case o.bookPlies < 0:
		return usagef("--book-plies %d: want 0 (whole games) or more", o.bookPlies)
	case o.bookPlies > 0 && !o.isPGN():
		return usagef("--book-plies: is for --openings FILE.pgn")
	case o.order != orderSequential && o.order != orderShuffled:
		return usagef("--openings-order %q: want %s or %s", o.order, orderSequential, orderShuffled)
	}
	if o.file != "" && !o.pliesSet {
		o.plies = 0
	}
	return nil
}

func (o *openingFlags) isPGN() bool { return strings.EqualFold(filepath.Ext(o.file), ".pgn") }

// openings returns the openings of so many pairs, and what makes them, which does
// not depend on their number.
func (o *openingFlags) openings(pairs int, seed uint64) (openings []arena.Opening, source string, err error) {
	book, err := o.book()
	if err != nil {
		return nil, "", err
	}
	source = fmt.Sprintf("start position, %d random plies", o.plies)
	if book != nil {
		source = fmt.Sprintf("book %s, %s, %d random plies", arena.HashOpenings(book), o.order, o.plies)
	}
	if o.order == orderShuffled {
		arena.Shuffle(book, seed)
	}
	openings, err = arena.Vary(book, pairs, o.plies, seed)
	if err != nil {
		return nil, "", usageError{fmt.Errorf("%w (--games, --openings, --opening-plies)", err)}
	}
	return openings, source, nil
}

// book reads the file of openings; nil without one.
func (o *openingFlags) book() ([]arena.Opening, error) {
	if o.file == "" {
		return nil, nil
	}
	f, err := os.Open(o.file)
	if err != nil {
		return nil, pathError(fmt.Errorf("--openings: %w", err))
	}
	defer f.Close()
	var book []arena.Opening
	if o.isPGN() {
		book, err = arena.ReadPGN(f, o.bookPlies)
	} else {
		var starts []selfplay.Start
		starts, err = selfplay.ReadStarts(f)
		for i := range starts {
			book = append(book, arena.Opening{Start: starts[i].Board})
		}
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("--openings %s: %w", o.file, err)}
	}
	return book, nil
}
