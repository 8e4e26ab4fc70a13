package encoding

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
)

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// The hashes and indices come from files that lc0 wrote.
func TestPolicyNames(t *testing.T) {
	var names []string
	for i := range NumPolicy {
		names = append(names, PolicyString(uint16(i)))
	}
	const want = "4a901f49851725496e39e34648dd58f240950fa6b72a0bbf6b2816b9af767cc7"
	if got := hash(strings.Join(names, "\n")); got != want {
		t.Errorf("sha256 of the 1858 names = %s, want %s", got, want)
	}
	if s := PolicyString(NumPolicy); s != "" {
		t.Errorf("PolicyString(1858) = %q, want empty", s)
	}
}

// convPolicyMap is the inverse of ConvPolicyIndex: plane*64 + from square -> policy
// index, -1 where there is none.
func convPolicyMap() (table [NumConvPlanes * NumSquares]int) {
	for i := range table {
		table[i] = slices.Index(ConvPolicyIndex()[:], uint16(i))
	}
	return table
}

func TestConvPolicyMapHash(t *testing.T) {
	var parts []string
	table := convPolicyMap()
	for _, idx := range table[:NumConvUsed*NumSquares] {
		parts = append(parts, strconv.Itoa(idx))
	}
	const want = "30ac7605dc32bed38767087a4db502df7d48c307aa0fc98daa0d3a658e7f315c"
	if got := hash(strings.Join(parts, ",")); got != want {
		t.Errorf("sha256 of the 4672 integers = %s, want %s", got, want)
	}
	for _, idx := range table[NumConvUsed*NumSquares:] {
		if idx != -1 {
			t.Fatalf("unused plane maps to %d, want -1", idx)
		}
	}
}

// No two policy indices share an entry of the map.
func TestConvPolicyIndexHasInverse(t *testing.T) {
	table := convPolicyMap()
	for i, at := range ConvPolicyIndex() {
		if got := table[at]; got != i {
			t.Errorf("policy index %d (%s) at %d maps back to %d", i, PolicyString(uint16(i)), at, got)
		}
	}
}

var policyChecks = map[string]uint16{
	"a1b1": 0, "a1h8": 22, "b1a3": 34, "b1c3": 36, "e1a1": 97, "e1h1": 103, "g1f3": 159, "g1h3": 161,
	"a2a3": 204, "a2a4": 207, "b2b3": 230, "b2b4": 234, "c2c3": 259, "c2c4": 264, "d2d3": 288, "d2d4": 293,
	"e2e3": 317, "e2e4": 322, "f2f3": 346, "f2f4": 351, "g2g3": 374, "g2g4": 378, "h2h3": 400, "h2h4": 403,
	"a7a8": 1401, "a7b8": 1402, "e7e8": 1515, "h8g8": 1791, "a7a8q": 1792, "a7a8r": 1793, "a7a8b": 1794,
	"a7b8q": 1795, "e7d8r": 1826, "h7g8b": 1854, "h7h8b": 1857,
	"a7a8n": 1401, "e7e8n": 1515, // a promotion to a knight is the plain move
}

// parseMove reads a move from the mover's view, e.g. "a7b8q".
func parseMove(s string) chess.Move {
	sq := func(s string) int { return int(s[0]-'a') + 8*int(s[1]-'1') }
	code := promoNone
	if len(s) == 5 {
		code = strings.Index("nbrq", s[4:]) + 1
	}
	return makeMove(sq(s), sq(s[2:]), code)
}

func TestPolicyIndex(t *testing.T) {
	for s, want := range policyChecks {
		if got := PolicyIndex(parseMove(s)); got != want {
			t.Errorf("PolicyIndex(%s) = %d, want %d", s, got, want)
		}
	}
}

// Every 16-bit word is either no move or has the index whose name it is.
func TestPolicyIndexOfEveryWord(t *testing.T) {
	valid := 0
	for w := range 1 << 16 {
		m := chess.Move(w)
		idx := PolicyIndex(m)
		if idx == NoPolicyIndex {
			continue
		}
		valid++
		want := m.From().String() + m.To().String()
		if code := m >> 12; code > promoKnight {
			want += string("nbrq"[code-1])
		}
		if got := PolicyString(idx); got != want {
			t.Fatalf("PolicyIndex(%#04x) = %d = %q, want %q", w, idx, got, want)
		}
	}
	if want := 2*numPlainMoves + numPromotions; valid != want {
		t.Errorf("%d words have an index, want %d", valid, want)
	}
}

func TestPolicyIndicesDiffer(t *testing.T) {
	b := chesstest.Board(t, "1n2k3/P6R/8/8/8/8/8/R3K2R w KQ - 0 1")
	var l chess.MoveList
	b.GenerateMoves(&l)
	seen := map[uint16]bool{}
	for _, m := range l.Slice() {
		idx := PolicyIndex(m)
		if seen[idx] {
			t.Errorf("index %d (%s) twice", idx, PolicyString(idx))
		}
		seen[idx] = true
	}
	for _, s := range []string{"e1h1", "e1a1", "a7b8", "a7b8q", "a7a8b", "h7h8"} {
		if !seen[policyChecks[s]] && !seen[PolicyIndex(parseMove(s))] {
			t.Errorf("%s is not among the legal moves", s)
		}
	}
}
