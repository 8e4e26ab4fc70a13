package selfplay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/chess"
)

// Order says in which order a start list is used.
type Order uint8

const (
	OrderRandom     Order = iota // each game draws one by weight
	OrderSequential              // game k takes position k modulo the list
	OrderShuffled                // every pass over the list is a new permutation; weights are ignored
	OrderMastery                 // a course: as much of the list as CourseWatch allows; weights are ignored
)

// Start is a start position with the moves that are played from it first.
type Start struct {
	Board  chess.Board
	Weight float64      // > 0; read by OrderRandom
	Moves  []chess.Move // an opening line, each from its mover's view; not searched, not trained on
}

// Openings says how games start. It is not changed by use, and may be shared.
type Openings struct {
	Starts      []Start // empty = the normal start position
	Order       Order
	RandomPlies int // uniformly random legal moves played after the line, at most; these plies have no policy

	// PolicyPlies, after the random ones, are drawn from the network's priors with
	// probability P^(1/PolicyTemperature), for one evaluation each: they are
	// neither searched nor trained on. [0,1000]; a temperature of 0 counts as 1.
	PolicyPlies       int
	PolicyTemperature float64

	// Mirrored gives the games 2k and 2k+1 one opening: the same start, line and
	// random plies, and with one net the same plies of the policy. The start
	// list is then gone through by pairs. See also Odds.
	Mirrored bool

	// StopProbability is the chance, at each move of a start's line, that the
	// line is left there, and at each random ply that it is the search's.
	StopProbability float64

	Mastery float64 // share of decided games with which a course goes on, (0,1]; read by OrderMastery

	cumulative []float64
	lines      map[string]int // of the starts of a course, by FEN
}

// NewOpenings returns openings over the starts; none means the normal start
// position.
func NewOpenings(starts []Start, order Order, randomPlies int) (*Openings, error) {
	if len(starts) == 0 {
		starts = []Start{{Board: chess.StartBoard(), Weight: 1}}
	}
	o := &Openings{Starts: starts, Order: order, RandomPlies: randomPlies}
	if order > OrderMastery || randomPlies < 0 || randomPlies > 1000 {
		return nil, fmt.Errorf("openings: order %d or %d random plies not possible", order, randomPlies)
	}
	sum := 0.0
	for i := range starts {
		if !(starts[i].Weight > 0 && starts[i].Weight < 1e300) {
			return nil, fmt.Errorf("openings: start %d has weight %v, must be above 0", i+1, starts[i].Weight)
		}
		if err := starts[i].check(); err != nil {
			return nil, fmt.Errorf("openings: start %d: %w", i+1, err)
		}
		sum += starts[i].Weight
		o.cumulative = append(o.cumulative, sum)
	}
	return o, o.number()
}

// maxLine is the longest line of a start, in plies.
const maxLine = 1000

// check plays the line through.
func (s *Start) check() error {
	if len(s.Moves) > maxLine {
		return fmt.Errorf("its line has %d plies, at most %d are taken", len(s.Moves), maxLine)
	}
	h := chess.NewHistory(s.Board)
	var l chess.MoveList
	for i := 0; ; i++ {
		if over := gameOver(h); over != chess.NotOver {
			return fmt.Errorf("the game is over (%v) after %d plies, in %s; cut the line before", over, i, h.Board().FEN())
		}
		if i == len(s.Moves) {
			return nil
		}
		if h.Board().GenerateMoves(&l); l.Index(s.Moves[i]) < 0 {
			return fmt.Errorf("ply %d of its line, %v, is not legal in %s", i+1, s.Moves[i], h.Board().FEN())
		}
		h.Push(s.Moves[i])
	}
}

var errOpeningsNotMade = errors.New("openings: must be made by NewOpenings")

func (o *Openings) validate() error {
	if len(o.cumulative) != len(o.Starts) || len(o.Starts) == 0 {
		return errOpeningsNotMade
	}
	if o.Order == OrderMastery && (!(o.Mastery > 0) || o.Mirrored) {
		return errCourse
	}
	return inRange([]setting{
		{"policy plies", float64(o.PolicyPlies), 0, 1000},
		{"policy temperature", o.PolicyTemperature, 0, 100},
		{"opening stop probability", o.StopProbability, 0, 1},
		{"mastery", o.Mastery, 0, 1},
	})
}

// policyTemperature returns the temperature of the policy's plies.
func (o *Openings) policyTemperature() float64 {
	if o.PolicyTemperature > 0 {
		return o.PolicyTemperature
	}
	return 1
}

// begin resets h to the game's start and plays its line and its random plies, a
// pure function of its arguments. front is the lines that a course has reached.
func (o *Openings) begin(h *chess.History, runSeed, ordinal uint64, front int, rng *rand.Rand) {
	if o.Mirrored {
		ordinal /= 2
	}
	start := &o.Starts[o.index(runSeed, ordinal, front, rng)]
	h.Reset(start.Board)
	stops := func() bool { return o.StopProbability > 0 && rng.Float64() < o.StopProbability }
	for _, m := range start.Moves {
		if stops() {
			break
		}
		h.Push(m)
	}
	var l chess.MoveList
	for range o.RandomPlies {
		if stops() {
			return
		}
		h.Board().GenerateMoves(&l)
		h.Push(l.Moves[rng.IntN(l.N)])
		if gameOver(h) != chess.NotOver {
			h.Truncate(h.Len() - 1) // the search takes over one ply before the end
			return
		}
	}
}

// index returns which start a game takes.
func (o *Openings) index(runSeed, ordinal uint64, front int, rng *rand.Rand) int {
	n := uint64(len(o.Starts))
	switch o.Order {
	case OrderSequential:
		return int(ordinal % n)
	case OrderShuffled:
		return int(permute(ordinal%n, n, mix(runSeed^mix(ordinal/n))))
	case OrderMastery:
		return o.courseLine(front, rng)
	}
	x := rng.Float64() * o.cumulative[n-1]
	i, _ := slices.BinarySearchFunc(o.cumulative, x, func(c, x float64) int {
		if c <= x {
			return -1
		}
		return 1
	})
	return min(i, int(n)-1)
}

// permute returns the image of i under a permutation of [0,n) given by seed: a
// four-round Feistel network, walked until it lands inside.
func permute(i, n, seed uint64) uint64 {
	half := uint(1)
	for uint64(1)<<(2*half) < n {
		half++
	}
	mask := uint64(1)<<half - 1
	for {
		l, r := i>>half, i&mask
		for round := range uint64(4) {
			l, r = r, l^mix(seed^r^round<<56)&mask
		}
		if i = l<<half | r; i < n {
			return i
		}
	}
}

// gameOver returns how the game is over at the end of h.
func gameOver(h *chess.History) chess.Terminal {
	var l chess.MoveList
	h.Board().GenerateMoves(&l)
	return h.Terminal(l.N)
}

// ReadStarts reads a FEN or EPD list: a position a line, empty lines and lines
// that begin with # skipped. An EPD's operations are ignored. A line may begin
// with a weight and a blank: "2.5 rnbqkbnr/...". Errors name the line.
func ReadStarts(r io.Reader) ([]Start, error) {
	var starts []Start
	sc := bufio.NewScanner(r)
	for line := 1; sc.Scan(); line++ {
		text := strings.TrimSpace(sc.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		s, err := parseStart(text)
		if err != nil {
			return nil, fmt.Errorf("read start positions: line %d: %w", line, err)
		}
		starts = append(starts, s)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("read start positions: %w", err)
	}
	if len(starts) == 0 {
		return nil, errors.New("read start positions: the list is empty")
	}
	return starts, nil
}

func parseStart(text string) (Start, error) {
	s := Start{Weight: 1}
	fields := strings.Fields(text)
	if w, err := strconv.ParseFloat(fields[0], 64); err == nil {
		s.Weight, fields = w, fields[1:]
	}
	if len(fields) < 4 {
		return s, fmt.Errorf("%q: a FEN has six fields, an EPD four and operations", text)
	}
	counters := []string{"0", "1"}
	if len(fields) >= 6 && isCount(fields[4]) && isCount(fields[5]) {
		counters = fields[4:6]
	}
	board, err := chess.ParseFEN(strings.Join(append(slices.Clone(fields[:4]), counters...), " "))
	s.Board = board
	return s, err
}

func isCount(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil
}
