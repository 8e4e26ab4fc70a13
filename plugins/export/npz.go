package export

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/export/npz"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

var npzSettings = []stage.Setting{
	gamesSetting("0"),
	{Name: "rows", Doc: "how many of the newest rows at most; 0 = all. A row takes 8.5 KB before compression", Default: "20000", Min: 0, Max: 1e9, Whole: true},
}

// newNPZ returns the exporter of the newest rows of the training window, for training in
// Python. The arrays (npzArrays) are KataGo's with chess in them. Rows are the positions
// meant for training (a policy, and a weight above 0), oldest game first, ascending
// plies; where there are too many the oldest are left out. The games are valid, as those
// of a window are. No rows at all are an error. The net is not looked at.
func newNPZ(v stage.Values) (prepare, error) {
	most := limits{int(v.Number("games")), int(v.Number("rows"))}
	return func(ctx context.Context, c *stage.Checkpoint) (func(io.Writer) error, error) {
		games, err := newest(ctx, c, "npz", most)
		if err != nil {
			return nil, err
		}
		s := npzSet{ctx: ctx, games: games}
		for _, g := range games {
			s.rows += g.NumRows()
		}
		if s.rows == 0 {
			return nil, fmt.Errorf("%d games have no position that is meant for training", len(games))
		}
		if most.rows > 0 && s.rows > most.rows {
			s.skip = s.rows - most.rows
			s.rows = most.rows
		}
		meta := metadata(c)
		meta["net_id"] = c.Net.ID
		text, err := json.Marshal(meta)
		return func(w io.Writer) error { return s.write(w, text) }, err
	}, nil
}

// npzSet is the rows of some games but for the first so many.
type npzSet struct {
	ctx      context.Context
	games    []*record.Game
	skip     int
	rows     int // that remain
	replayer record.Replayer
}

// npzRow is a row and its game: b holds all of the game's positions, and the row
// is that of ply.
type npzRow struct {
	game *record.Game
	ply  int
	b    *encoding.TrainBatch
}

// each calls fn for every row, in order.
func (s *npzSet) each(fn func(*npzRow) error) error {
	skip := s.skip
	b := encoding.NewTrainBatch(0)
	var plies []int
	for _, g := range s.games {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		plies = plies[:0]
		for i := range g.Plies {
			plies = append(plies, i)
		}
		b.Reset()
		if err := s.replayer.AppendRows(b, g, plies); err != nil {
			return fmt.Errorf("game %x: %w", g.ID, err)
		}
		for i := range g.Plies {
			if !g.Plies[i].Trained() {
				continue
			}
			if skip > 0 {
				skip--
				continue
			}
			if err := fn(&npzRow{g, i, b}); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes the file: the arrays one after the other, each in a replay of the
// games, so that no more than a game is unpacked at a time.
func (s *npzSet) write(w io.Writer, metadata []byte) error {
	z := npz.NewWriter(w)
	for _, a := range npzArrays {
		if err := z.Array(a.name, a.dtype, append([]int{s.rows}, a.shape...), func(out io.Writer) error {
			var raw []byte
			return s.each(func(r *npzRow) error {
				raw = a.append(raw[:0], r)
				_, err := out.Write(raw)
				return err
			})
		}); err != nil {
			return err
		}
	}
	if err := z.Array("metadata", npz.Text(len(metadata)), nil, func(out io.Writer) error {
		_, err := out.Write(metadata)
		return err
	}); err != nil {
		return err
	}
	return z.Close()
}

// Marks of policyTargetsNCMove.
const (
	npzIllegal   = -1
	npzMaxPolicy = 32767
)

type npzArray struct {
	name   string
	dtype  npz.DType
	shape  []int // of a row
	append func(dst []byte, r *npzRow) []byte
}

// npzArrays are the arrays of a file with N rows. Names, bit order and the sense
// of the arrays are KataGo's (trainingwrite.h); all is from the view of the side
// to move, whose ranks count from 1 up.
//
//	binaryInputNCHWPacked uint8   [N,112,8]   the input planes of format 1 as bits: byte r is
//	                                          rank r+1, its highest bit file a, so that
//	                                          numpy.unpackbits gives a1, b1, ... h8; plane 109 is 0
//	globalInputNC         float32 [N,6]       what planes 104 to 109 hold on all squares: we may
//	                                          castle queenside, kingside, they may, black to move,
//	                                          rule50 plies / 99
//	policyTargetsNCMove   int16   [N,2,1858]  by policy index: 0 the policy target of the row,
//	                                          1 that of the opponent's reply (the next position,
//	                                          in its own view). In proportion to the target: the
//	                                          visits where the search left them; -1 = not legal
//	globalTargetsNC       float32 [N,22]      see npzTargets; NaN = not known
//	gameIDN               uint8   [N,16]      the id of the game, to split by games
//	metadata              bytes   []          JSON: net, step, samples, rows, job
var npzArrays = []npzArray{
	{"binaryInputNCHWPacked", npz.Uint8, []int{encoding.NumPlanes, 8}, appendPlanes},
	{"globalInputNC", npz.Float32, []int{6}, func(dst []byte, r *npzRow) []byte {
		g := globals(&r.b.Scalars[r.ply])
		return npz.Append(dst, g[:]...)
	}},
	{"policyTargetsNCMove", npz.Int16, []int{2, encoding.NumPolicy}, func(dst []byte, r *npzRow) []byte {
		return appendPolicy(appendPolicy(dst, r, r.ply), r, r.ply+1)
	}},
	{"globalTargetsNC", npz.Float32, []int{len(npzTargets)}, appendTargets},
	{"gameIDN", npz.Uint8, []int{16}, func(dst []byte, r *npzRow) []byte { return append(dst, r.game.ID[:]...) }},
}

// npzTargets name the columns of globalTargetsNC. win, draw and loss are the
// probabilities of the outcome that the row is trained on, and moves_left the
// plies to it; then Q, D, M of the search's root, of the move with most visits,
// of the move played and of the raw network; the row's weight; 1 where the
// reply's policy is known, else 0; the root's visits and the KL divergence of
// its policy from the raw network's in nats (both 0 = not known); the position's
// number in its game, from 0, and the game's number of positions.
var npzTargets = [...]string{
	"win", "draw", "loss", "moves_left",
	"root_q", "root_d", "root_m", "best_q", "best_d", "best_m",
	"played_q", "played_d", "played_m", "orig_q", "orig_d", "orig_m",
	"weight", "reply_weight", "visits", "policy_kld", "ply", "plies",
}

// globals are what planes 104 to 109 hold.
func globals(s *encoding.Scalars) [6]float32 {
	return [6]float32{float32(s.OurOOO), float32(s.OurOO), float32(s.TheirOOO), float32(s.TheirOO),
		float32(s.BlackToMove), float32(s.Rule50) / encoding.Rule50Scale}
}

func appendPlanes(dst []byte, r *npzRow) []byte {
	for _, m := range r.b.Masks[r.ply] {
		dst = binary.BigEndian.AppendUint64(dst, bits.Reverse64(m)) // a1 first
	}
	g := globals(&r.b.Scalars[r.ply])
	g[5] = 0 // rule50 is no bit
	for _, v := range append(g[:], 0, 1) {
		m := uint64(0)
		if v != 0 {
			m = ^m
		}
		dst = binary.BigEndian.AppendUint64(dst, m)
	}
	return dst
}

// appendPolicy appends the policy of a position, which may be the one behind the
// last.
func appendPolicy(dst []byte, r *npzRow, ply int) []byte {
	var row [encoding.NumPolicy]int16
	for m := range row {
		row[m] = npzIllegal
	}
	if ply < len(r.game.Plies) {
		for k, m := range r.b.LegalOf(ply) {
			row[m] = policyShare(&r.game.Plies[ply], k)
		}
	}
	return npz.Append(dst, row[:]...)
}

// policyShare is the policy of the k-th legal move as a whole number, in
// proportion to the target. Visits stay as they are unless one does not fit.
func policyShare(p *record.Ply, k int) int16 {
	switch p.Kind {
	case record.PolicyProbs:
		return int16(float32(p.Probs[k]*npzMaxPolicy) + 0.5) // the same on machines that fuse products with sums
	case record.PolicyCounts:
		most := slices.Max(p.Counts)
		switch {
		case most == 0: // a single legal move that needed no visits
			return 1
		case most <= npzMaxPolicy:
			return int16(p.Counts[k])
		}
		return int16(float64(p.Counts[k])*npzMaxPolicy/float64(most) + 0.5)
	}
	return 0
}

func appendTargets(dst []byte, r *npzRow) []byte {
	p := &r.game.Plies[r.ply]
	result := r.game.ResultAt(r.ply)
	win, draw, loss := result.WDL()
	reply := float32(0)
	if r.ply+1 < len(r.game.Plies) && r.game.Plies[r.ply+1].Kind != record.PolicyNone {
		reply = 1
	}
	dst = npz.Append(dst, win, draw, loss, result.M)
	for _, v := range []encoding.QDM{p.Root, p.Best, p.Played, p.Orig} {
		dst = npz.Append(dst, v.Q, v.D, v.M)
	}
	return npz.Append(dst, p.Weight, reply, float32(p.Visits), p.KLD, float32(r.ply), float32(len(r.game.Plies)))
}
