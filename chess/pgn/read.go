package pgn

import (
	"fmt"
	"io"
	"runtime"
	"sync"
)

// job is one game on its way through the decoders; done is closed when game or
// bad is set.
type job struct {
	game *Game
	bad  *GameError
	done chan struct{}
}

// Read calls fn with every game of the input, in order, from the caller's
// goroutine; decoding runs ahead on all processors by a bounded number of games.
// It stops at the first error of fn or of the reader and returns it. Games that
// cannot be read are left out and come back together as a *ReadError at the end.
func Read(r io.Reader, opt ReadOptions, fn func(*Game) error) error {
	ordered := make(chan *job, 4*runtime.GOMAXPROCS(0)) // backpressure: the scanner waits when it is full
	stop := make(chan struct{})
	s := newScanner(r)
	s.keep = opt.Comments
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(ordered)
		for raw := s.next(); raw != nil && s.err == nil; raw = s.next() {
			j := &job{done: make(chan struct{})}
			select {
			case ordered <- j:
			case <-stop:
				return
			}
			wg.Go(func() {
				j.game, j.bad = decode(raw, opt.OwnRules)
				close(j.done)
			})
		}
	})
	bad, err := deliver(ordered, fn, opt.OnBad)
	close(stop)
	for range ordered { // let the scanner end
	}
	wg.Wait()
	switch {
	case err != nil:
		return err
	case s.err != nil:
		return fmt.Errorf("read PGN: %w", s.err)
	case bad.Total > 0:
		return bad
	}
	return nil
}

// ReadOptions of Read. The zero value is usual.
type ReadOptions struct {
	// Comments fills Game.Comments with those of the main line, of both kinds:
	// several after one move are joined by a blank, line breaks and runs of blanks
	// become one blank. Those before the first move and those inside variations are
	// left out. A game with more than 4 MiB of them is bad.
	Comments bool

	// OnBad is called for each game that cannot be read, in order with the others,
	// from the caller's goroutine; an error ends the reading and is returned. nil
	// leaves it to the *ReadError at the end, which lists the first 100.
	OnBad func(*GameError) error

	// OwnRules decodes every move with package chess alone, as is done with
	// Chess960. It accepts the same games and is many times faster; what falls away
	// is the second opinion of notnil/chess.
	OwnRules bool
}

// deliver hands the games to fn in order and collects the bad ones.
func deliver(ordered <-chan *job, fn func(*Game) error, onBad func(*GameError) error) (*ReadError, error) {
	bad := new(ReadError)
	for j := range ordered {
		<-j.done
		if j.bad != nil {
			bad.Total++
			if len(bad.Games) < maxReported {
				bad.Games = append(bad.Games, j.bad)
			}
			if onBad != nil {
				if err := onBad(j.bad); err != nil {
					return bad, err
				}
			}
			continue
		}
		if err := fn(j.game); err != nil {
			return bad, err
		}
	}
	return bad, nil
}
