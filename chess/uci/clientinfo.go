package uci

import (
	"strconv"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/chess"
)

// MateScore is the centipawns of a mate on the board; one in N moves is N less.
const MateScore = 32000

// maxPV bounds the moves of a line.
const maxPV = 256

// Info is what an engine says of its search, seen by the side to move. What it
// has not said is zero.
type Info struct {
	Depth, SelDepth int // plies
	Nodes           int64
	NPS             int64         // nodes a second, as the engine counts
	Time            time.Duration // as the engine counts
	HashFull        int           // per mille
	TBHits          int64

	Scored  bool   // there is a score
	ScoreCP int    // centipawns; for a mate MateScore less the moves to it, negative where the mover is mated
	Mate    int    // moves to a mate, negative where the mover is mated; 0 = no such score, or mated now
	Bound   int    // 1: the score is at least this, -1: at most, 0: exact
	WDL     [3]int // wins, draws, losses per mille; all 0 where the engine does not say

	PV   []chess.Move // best line, as far as it is legal; each move from its mover's view
	Text string       // of its last "info string"
}

// infoReader collects the info lines of one search.
type infoReader struct {
	info Info
	pv   string // moves of the last line, not read yet
}

// take reads what follows the word "info". A line changes what it names and
// leaves the rest; lines of other than the best variation are passed over, and
// so is what cannot be read.
func (r *infoReader) take(text string) {
	if said, ok := strings.CutPrefix(text, "string "); ok {
		r.info.Text = cut(said)
		return
	}
	text, pv, hasPV := strings.Cut(" "+text, " pv ")
	words := strings.Fields(text)
	next := r.info
	for i := 0; i < len(words); i++ {
		n, ok := int64(0), false
		if i+1 < len(words) {
			v, err := strconv.ParseInt(words[i+1], 10, 64)
			n, ok = v, err == nil
		}
		switch words[i] {
		case "multipv":
			if ok && n != 1 {
				return
			}
		case "string": // an engine may end a line with it
			next.Text = cut(strings.Join(words[i+1:], " "))
			i = len(words)
		case "score":
			i += next.score(words[i+1:])
		case "wdl":
			i += next.wdl(words[i+1:])
		default:
			if ok && n >= 0 && next.count(words[i], n) {
				i++
			}
		}
	}
	if hasPV {
		r.pv = pv
	}
	r.info = next
}

// count sets a plain number; false: there is none of that name.
func (f *Info) count(name string, n int64) bool {
	small := int(min(n, 1<<30))
	switch name {
	case "depth":
		f.Depth = small
	case "seldepth":
		f.SelDepth = small
	case "nodes":
		f.Nodes = n
	case "nps":
		f.NPS = n
	case "tbhits":
		f.TBHits = n
	case "hashfull":
		f.HashFull = small
	case "time":
		f.Time = time.Duration(min(n, 1<<40)) * time.Millisecond
	default:
		return false
	}
	return true
}

// score reads "cp N" or "mate N", with a bound perhaps, and returns how many
// words it took.
func (f *Info) score(words []string) int {
	if len(words) < 2 {
		return 0
	}
	n, err := strconv.Atoi(words[1])
	if err != nil {
		return 0
	}
	n = max(-MateScore, min(n, MateScore))
	switch words[0] {
	case "cp":
		f.Mate, f.ScoreCP = 0, n
	case "mate":
		f.Mate, f.ScoreCP = n, MateScore-n
		if n <= 0 {
			f.ScoreCP = -MateScore - n
		}
	default:
		return 0
	}
	f.Scored, f.Bound, f.WDL = true, 0, [3]int{} // the old chances are of another score
	if len(words) > 2 {
		switch words[2] {
		case "lowerbound":
			f.Bound = 1
			return 3
		case "upperbound":
			f.Bound = -1
			return 3
		}
	}
	return 2
}

// wdl reads three numbers per mille and returns how many words it took.
func (f *Info) wdl(words []string) int {
	if len(words) < 3 {
		return 0
	}
	var wdl [3]int
	for i := range wdl {
		n, err := strconv.Atoi(words[i])
		if err != nil || n < 0 || n > 1000 {
			return 0
		}
		wdl[i] = n
	}
	f.WDL = wdl
	return 3
}

// finish returns what was collected, with the best line from board.
func (r *infoReader) finish(board *chess.Board) Info {
	b := *board
	for text := range strings.FieldsSeq(r.pv) {
		m, err := b.ParseUCI(text)
		if err != nil || len(r.info.PV) == maxPV {
			break
		}
		r.info.PV = append(r.info.PV, m)
		b.Make(m)
	}
	return r.info
}
