package importer

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/encoding"
)

// annotation is what a comment behind a move says of positions.
type annotation struct {
	root   encoding.QDM // of the position before the move, as its mover sees it
	white  encoding.QDM // the same as white sees it: TCEC's wv
	after  encoding.QDM // of the position after the move, as white sees it: [%eval]
	visits uint32       // of the search before the move; 0 = not known
}

var (
	evalForm = regexp.MustCompile(`\[%eval\s+(#?[+-]?[0-9]*\.?[0-9]+)(?:\s*,\s*[0-9]+)?\s*\]`)
	wvForm   = regexp.MustCompile(`(?:^|[\s,])wv=([^\s,]+)`)
	cuteForm = regexp.MustCompile(`(?:^|\s)([+-]?(?:[0-9]+\.[0-9]+|M[0-9]+))/[0-9]+(?:$|[\s,])`)

	mateMarks = strings.NewReplacer("#", "", "M", "")
)

// readAnnotation reads the evaluations of a comment in the forms of
//
//   - Lichess and others: [%eval 0.25], [%eval #-3]: pawns or mate in moves, as
//     white sees the position after the move
//   - cutechess and fastchess: +0.31/12 5.2s, -M5/20: as the mover saw it before
//   - TCEC: wv=0.25, wv=-M12: as white sees it, of the search before the move
//   - this program's own PGN: q=+0.123 d=0.45 m=57 n=101: Q, D, M and visits of
//     the search before the move
//
// What is not there, or cannot be understood, is NaN.
func readAnnotation(comment string, draws float64) annotation {
	a := annotation{root: encoding.UnknownQDM, white: encoding.UnknownQDM, after: encoding.UnknownQDM}
	if comment == "" {
		return a
	}
	if strings.HasPrefix(comment, "q=") {
		a.readOwn(comment)
		return a
	}
	if m := evalForm.FindStringSubmatch(comment); m != nil {
		a.after = readScore(m[1], draws)
	}
	if m := wvForm.FindStringSubmatch(comment); m != nil {
		a.white = readScore(m[1], draws)
	} else if m := cuteForm.FindStringSubmatch(comment); m != nil {
		a.root = readScore(m[1], draws)
	}
	return a
}

// readOwn reads the words of this program's own comments up to the first that
// is none of them. A value out of its range is not known.
func (a *annotation) readOwn(comment string) {
	for word := range strings.FieldsSeq(comment) {
		if !a.readWord(word) {
			break
		}
	}
	// Two and three decimals round apart.
	if a.root.D == a.root.D {
		a.root.D = min(a.root.D, 1-float32(math.Abs(float64(a.root.Q))))
	}
}

// readWord reads one word of this program's own comments; false if it is none.
func (a *annotation) readWord(word string) bool {
	name, text, _ := strings.Cut(word, "=")
	v, err := strconv.ParseFloat(text, 32)
	switch {
	case err != nil:
		return false
	case name == "q" && v >= -1 && v <= 1:
		a.root.Q = float32(v)
	case name == "d" && v >= 0 && v <= 1:
		a.root.D = float32(v)
	case name == "m" && v >= 0 && v <= math.MaxUint16:
		a.root.M = float32(v)
	case name == "n" && v >= 1 && v <= math.MaxInt32:
		a.visits = uint32(v)
	default:
		return false
	}
	return true
}

// readScore reads pawns or a mate (#3, #-3, M3, -M3, +M3) as a value with D by
// Targets.DrawRate, NaN where that is; unknown where the text is neither. Mate in 0
// does not say for whom.
func readScore(text string, draws float64) encoding.QDM {
	v := encoding.UnknownQDM
	plain := mateMarks.Replace(text)
	n, err := strconv.ParseFloat(plain, 64)
	switch {
	case err != nil || math.IsNaN(n) || math.IsInf(n, 0):
	case len(plain) < len(text) && n != 0:
		v.Q, v.D = float32(math.Copysign(1, n)), 0
	case len(plain) == len(text):
		q := QOfPawns(n)
		v.Q, v.D = float32(q), float32(draws*(1-math.Abs(q)))
	}
	return v
}

// QOfPawns returns the expected result in [-1,1] of an evaluation in pawns:
// atan(100*pawns/90) / 1.5637541897, the inverse of lc0's form by which this
// program's UCI engine shows Q as centipawns: one pawn is 0.536, two 0.735.
func QOfPawns(pawns float64) float64 {
	return max(-1, min(1, math.Atan(100*pawns/90)/1.5637541897))
}
