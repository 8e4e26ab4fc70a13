package chunks

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/encoding/lc0"
)

// Number is a float32 whose NaN is null in JSON and "-" in text.
type Number float32

// MarshalJSON implements json.Marshaler.
func (x Number) MarshalJSON() ([]byte, error) {
	if x != x || math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float32(x))
}

// String returns the shortest decimal form.
func (x Number) String() string {
	if x != x {
		return "-"
	}
	return fmt.Sprint(float32(x))
}

// Frame is one record with every field by Leela's name, for programs to read.
// Moves are named as policy indices are: from the mover's view, castling as king
// takes rook, in formats 3 up on the turned board.
type Frame struct {
	Record        int                 `json:"record"`
	FEN           string              `json:"fen,omitempty"`  // of the game found out, where there is one
	Move          string              `json:"move,omitempty"` // UCI, likewise
	Version       uint32              `json:"version"`
	InputFormat   uint32              `json:"input_format"`
	Policy        []Share             `json:"probabilities"` // of the moves that are not -1
	Planes        map[string]string   `json:"planes"`        // those that are not empty, hexadecimal, bit i = square i
	Castling      [4]uint8            `json:"castling"`      // us O-O-O, us O-O, them O-O-O, them O-O
	SideOrEP      uint8               `json:"side_to_move_or_enpassant"`
	Rule50        uint8               `json:"rule50_count"`
	Invariance    uint8               `json:"invariance_info"`
	Flags         []string            `json:"flags"`
	Values        map[string][]Number `json:"values"` // root, best, played, orig: q, d, m
	PliesLeft     Number              `json:"plies_left"`
	ResultQ       Number              `json:"result_q"`
	ResultD       Number              `json:"result_d"`
	Visits        uint32              `json:"visits"`
	PlayedIdx     uint16              `json:"played_idx"`
	BestIdx       uint16              `json:"best_idx"`
	PolicyKLD     Number              `json:"policy_kld"`
	QST           Number              `json:"q_st"`
	DST           Number              `json:"d_st"`
	OppPlayedIdx  uint16              `json:"opp_played_idx"`
	NextPlayedIdx uint16              `json:"next_played_idx"`
	Reserved      [8]Number           `json:"reserved"`
}

// Share is the probability of a move.
type Share struct {
	Index uint16 `json:"index"`
	Move  string `json:"move"`
	P     Number `json:"p"`
}

var flagNames = [8]string{"flip", "mirror", "transpose", "best-proven", "max-length", "adjudicated", "deleted", "black-to-move"}

// FrameOf describes record i of a chunk.
func FrameOf(records []lc0.Record, i int) Frame {
	r := &records[i]
	f := Frame{Record: i, Version: r.Version, InputFormat: r.InputFormat, Planes: map[string]string{}, Castling: r.Castling,
		SideOrEP: r.SideOrEP, Rule50: r.Rule50, Invariance: uint8(r.Invariance), Flags: []string{}, Values: map[string][]Number{},
		PliesLeft: Number(r.PliesLeft), ResultQ: Number(r.ResultQ), ResultD: Number(r.ResultD), Visits: r.Visits,
		PlayedIdx: r.PlayedIdx, BestIdx: r.BestIdx, PolicyKLD: Number(r.PolicyKLD), QST: Number(r.QST), DST: Number(r.DST),
		OppPlayedIdx: r.OppPlayedIdx, NextPlayedIdx: r.NextPlayedIdx}
	for idx, p := range r.Probabilities {
		if p >= 0 {
			f.Policy = append(f.Policy, Share{uint16(idx), encoding.PolicyString(uint16(idx)), Number(p)})
		}
	}
	for k, m := range r.Planes {
		if m != 0 {
			f.Planes[fmt.Sprint(k)] = fmt.Sprintf("%016x", m)
		}
	}
	if r.Version >= 5 {
		for k, name := range flagNames {
			if r.Invariance>>k&1 == 1 {
				f.Flags = append(f.Flags, name)
			}
		}
	}
	for name, v := range map[string]encoding.QDM{"root": r.Root, "best": r.Best, "played": r.Played, "orig": r.Orig} {
		f.Values[name] = []Number{Number(v.Q), Number(v.D), Number(v.M)}
	}
	for k, v := range r.Reserved {
		f.Reserved[k] = Number(v)
	}
	return f
}

// Frames describes all records of a chunk; with positions and moves, if they are
// a game. The error says why they are not.
func Frames(records []lc0.Record) ([]Frame, error) {
	frames := make([]Frame, len(records))
	for i := range records {
		frames[i] = FrameOf(records, i)
	}
	g, err := lc0.Game(records)
	if err != nil {
		return frames, err
	}
	b, err := g.StartBoard()
	if err != nil {
		return frames, err
	}
	h := chess.NewHistory(b)
	lead := len(g.Plies) - len(records)
	for i := range g.Plies {
		m := g.Plies[i].Move
		if i >= lead {
			frames[i-lead].FEN, frames[i-lead].Move = h.Board().FEN(), h.Board().UCI(m, true)
		}
		h.Push(m)
	}
	return frames, nil
}

// Write prints every field of a frame.
func (f *Frame) Write(out io.Writer) error {
	var sb strings.Builder
	row := func(name string, v ...any) {
		fmt.Fprintf(&sb, "  %-26s", name)
		for _, x := range v {
			fmt.Fprintf(&sb, " %v", x)
		}
		sb.WriteByte('\n')
	}
	fmt.Fprintf(&sb, "record %d\n", f.Record)
	if f.FEN != "" {
		row("position", f.FEN)
		row("move", f.Move)
	}
	row("version", f.Version)
	row("input_format", f.InputFormat)
	row("castling", f.Castling)
	row("side_to_move_or_enpassant", f.SideOrEP)
	row("rule50_count", f.Rule50)
	row("invariance_info", fmt.Sprintf("%#02x", f.Invariance), strings.Join(f.Flags, ","))
	for _, name := range [4]string{"root", "best", "played", "orig"} {
		v := f.Values[name]
		row(name+"_q, _d, _m", v[0], v[1], v[2])
	}
	row("plies_left", f.PliesLeft)
	row("result_q, result_d", f.ResultQ, f.ResultD)
	row("visits", f.Visits)
	row("played_idx", f.PlayedIdx, encoding.PolicyString(f.PlayedIdx))
	row("best_idx", f.BestIdx, encoding.PolicyString(f.BestIdx))
	row("policy_kld", f.PolicyKLD)
	row("q_st, d_st", f.QST, f.DST)
	if f.Version >= 7 {
		row("opp_played_idx", f.OppPlayedIdx, encoding.PolicyString(f.OppPlayedIdx))
		row("next_played_idx", f.NextPlayedIdx, encoding.PolicyString(f.NextPlayedIdx))
		row("reserved", f.Reserved)
	}
	for _, s := range f.Policy {
		row("probability", s.Index, s.Move, s.P)
	}
	for k := range encoding.NumMasks {
		if m, ok := f.Planes[fmt.Sprint(k)]; ok {
			row("plane", k, m)
		}
	}
	_, err := io.WriteString(out, sb.String())
	return err
}
