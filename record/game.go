package record

import (
	"fmt"
	"slices"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// EndReason says why a game ended.
type EndReason uint8

// The end reasons. Their numbers are on disk.
const (
	EndUnknown    EndReason = iota // imported; WhiteResult counts
	EndCheckmate                   // the side to move is mated
	EndStalemate                   //
	EndRepetition                  // third occurrence
	EndFiftyMoves                  // rule50 >= 100
	EndMaterial                    // no mating material
	EndResign                      //
	EndTablebase                   // adjudicated by endgame tables
	EndMaxPlies                    // cut at the length limit
	EndAborted                     // no result: WhiteResult is 0 and means nothing
	numEndReasons
)

var endNames = [numEndReasons]string{
	"unknown", "checkmate", "stalemate", "repetition", "fifty-moves", "material",
	"resign", "tablebase", "max-plies", "aborted",
}

// String returns the reason's name in metrics and PGN, such as "fifty-moves".
func (e EndReason) String() string {
	if e < numEndReasons {
		return endNames[e]
	}
	return fmt.Sprintf("EndReason(%d)", uint8(e))
}

// EndOf returns the end reason of a position where the game is over by the
// rules, EndUnknown where it goes on.
func EndOf(t chess.Terminal) EndReason { return endsByRule[t] }

var endsByRule = map[chess.Terminal]EndReason{chess.Checkmate: EndCheckmate, chess.Stalemate: EndStalemate,
	chess.Repetition: EndRepetition, chess.FiftyMoves: EndFiftyMoves, chess.Material: EndMaterial}

// PolicyKind says in which form a ply holds its policy.
type PolicyKind uint8

// The kinds of policy. Their numbers are on disk.
const (
	PolicyNone   PolicyKind = iota // not searched for training
	PolicyCounts                   // visits of each legal move
	PolicyProbs                    // a probability of each legal move
)

// PlyFlags are marks on one position.
type PlyFlags uint8

// The marks on a position. Their bits are on disk.
const (
	FullSearch  PlyFlags = 1 << iota // searched in full, not as a cheap playout-cap search
	Adjudicated                      // Leela's adjudicated bit: the game was cut by resign or length
	PlayedOn                         // at or after a would-be resign that was played on
	BestProven                       // Best is proven
	allPlyFlags = 1<<iota - 1
)

// GameFlags are marks on a whole game.
type GameFlags uint16

// The marks on a game. Their bits are on disk.
const (
	ResignDisabled GameFlags = 1 << iota // played on past would-be resigns, to measure false ones
	MaxPliesHit                          // the length limit cut the game
	NetChanged                           // weights changed while it was played; NetID is the first net
	Imported                             // made from another program's files
	Chess960                             // castling and FENs in Chess960 style
	allGameFlags   = 1<<iota - 1
)

// Ply is one position and the move played from it. All values are from the
// view of the side to move; unknown ones are NaN (encoding.UnknownQDM).
type Ply struct {
	Move   chess.Move // mover's view, castling as king takes own rook
	Kind   PolicyKind
	Counts []uint32  // PolicyCounts: visits beside the legal moves in generation order, 0 = unvisited
	Probs  []float32 // PolicyProbs: beside the legal moves, each in [0,1], sum 1

	Root   encoding.QDM // the search's root value
	Best   encoding.QDM // of the move with most visits
	Played encoding.QDM // of the move played
	Orig   encoding.QDM // the raw network's value

	Visits uint32   // the root's visits including its own evaluation; 0 = not known
	Weight float32  // row weight, 1 = normal, 0 = not trained on
	KLD    float32  // KL divergence of the policy from the raw network's, nats; 0 = not known
	Flags  PlyFlags //
}

// Trained says whether the position is meant for training: it has a policy and a
// weight.
func (p *Ply) Trained() bool { return p.Kind != PolicyNone && p.Weight > 0 }

// namedQDM is one of a ply's value estimates with its name in messages.
type namedQDM struct {
	name string
	encoding.QDM
}

// values returns the four value estimates in their order on disk.
func (p *Ply) values() [4]namedQDM {
	return [4]namedQDM{{"root", p.Root}, {"best", p.Best}, {"played", p.Played}, {"orig", p.Orig}}
}

// Game is one finished game. The zero value with a NetID is the valid record
// of an empty game.
type Game struct {
	ID      [16]byte // see GameID
	Start   string   // FEN, Shredder castling letters where Chess960 needs them; "" = the normal start
	NetID   string   // the net that played, at most 255 bytes
	Seed    uint64   // the run's seed
	Ordinal uint64   // the game's number within its process, from 0
	Flags   GameFlags
	End     EndReason

	WhiteResult int8 // +1 white won, 0 draw, -1 black won
	Plies       []Ply

	// Results are outcomes of single positions that differ from the game's own,
	// as a rescorer or an importer sets them: nil, or one for each ply, as its
	// side to move sees it. Q and D NaN: as WhiteResult says; M NaN: the plies to
	// the end of the game. Read through ResultAt, written through SetResult.
	Results []encoding.QDM

	Extra []byte // what an importer must keep and the fields do not hold
}

// StartBoard returns the position before the first move.
func (g *Game) StartBoard() (chess.Board, error) {
	if g.Start == "" {
		return chess.StartBoard(), nil
	}
	b, err := chess.ParseFEN(g.Start)
	if err != nil {
		return chess.Board{}, &InvalidError{Ply: -1, Field: "start", Reason: err.Error(), err: err}
	}
	return b, nil
}

// Result returns the outcome from side's view: +1, 0, -1.
func (g *Game) Result(side chess.Color) int { return resultFor(side, g.WhiteResult) }

func resultFor(side chess.Color, whiteResult int8) int {
	if side == chess.Black {
		return -int(whiteResult)
	}
	return int(whiteResult)
}

// NumRows returns the number of positions that are meant for training.
func (g *Game) NumRows() (n int) {
	for i := range g.Plies {
		if g.Plies[i].Trained() {
			n++
		}
	}
	return n
}

// Clone returns a deep copy, for rescorers that change a game.
func (g *Game) Clone() *Game {
	c := *g
	c.Extra, c.Results = slices.Clone(g.Extra), slices.Clone(g.Results)
	c.Plies = slices.Clone(g.Plies)
	for i := range c.Plies {
		c.Plies[i].Counts = slices.Clone(g.Plies[i].Counts)
		c.Plies[i].Probs = slices.Clone(g.Plies[i].Probs)
	}
	return &c
}
