package tools

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/chessbrain/chessbrain/encoding"
)

// dumpRow is a row as one line of JSON. Everything is from the view of the side
// to move; unknown numbers are null.
type dumpRow struct {
	Row     int                `json:"row"`
	Pieces  string             `json:"pieces"` // newest board as rows of a FEN, own pieces upper case
	Masks   []jsonMask         `json:"masks"`  // planes 0..103 as bit masks, bit i = square i, a1 = 0
	Scalars dumpScalars        `json:"scalars"`
	Weight  float32            `json:"weight"`
	Targets map[string]dumpQDM `json:"targets"`
	Output  dumpOutput         `json:"output"`
	Moves   []dumpMove         `json:"moves"` // the legal ones
}

// jsonMask is a mask as a hexadecimal string: JSON numbers have 53 bits.
type jsonMask uint64

func (m jsonMask) MarshalText() ([]byte, error) {
	const digits = "0123456789abcdef"
	text := make([]byte, 16)
	for i := range text {
		text[i] = digits[m>>(60-4*i)&15]
	}
	return text, nil
}

type dumpScalars struct {
	OurOOO      uint8 `json:"our_ooo"`
	OurOO       uint8 `json:"our_oo"`
	TheirOOO    uint8 `json:"their_ooo"`
	TheirOO     uint8 `json:"their_oo"`
	BlackToMove uint8 `json:"black_to_move"`
	Rule50      uint8 `json:"rule50"`
}

type dumpQDM struct {
	Q *float32 `json:"q"`
	D *float32 `json:"d"`
	M *float32 `json:"m"`
}

type dumpOutput struct {
	W float32 `json:"w"`
	D float32 `json:"d"`
	L float32 `json:"l"`
	M float32 `json:"m"`
}

type dumpMove struct {
	Move   string  `json:"move"`
	Index  uint16  `json:"index"`
	Target float32 `json:"target"`
	P      float32 `json:"p"`
}

// known is a number for JSON, nil where it is not known.
func known(x float32) *float32 {
	if x != x {
		return nil
	}
	return &x
}

// writeJSON writes one object a line.
func (d *Dump) writeJSON(w io.Writer) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	if err := d.each(func(n int, b *encoding.TrainBatch, i int) error { return enc.Encode(newDumpRow(n, b, i)) }); err != nil {
		return err
	}
	return out.Flush()
}

func newDumpRow(n int, b *encoding.TrainBatch, i int) *dumpRow {
	s := &b.Scalars[i]
	r := &dumpRow{Row: n, Pieces: pieces(b, i), Weight: b.Weight[i], Targets: map[string]dumpQDM{},
		Scalars: dumpScalars{s.OurOOO, s.OurOO, s.TheirOOO, s.TheirOO, s.BlackToMove, s.Rule50},
		Output:  dumpOutput{b.WDL[i][0], b.WDL[i][1], b.WDL[i][2], b.M[i]}}
	for _, m := range b.Masks[i] {
		r.Masks = append(r.Masks, jsonMask(m))
	}
	for t, name := range targetNames {
		v := b.Targets[i][t]
		r.Targets[name] = dumpQDM{known(v.Q), known(v.D), known(v.M)}
	}
	for k, m := range b.LegalOf(i) {
		r.Moves = append(r.Moves, dumpMove{encoding.PolicyString(m), m, b.PolicyOf(i)[k], b.PriorOf(i)[k]})
	}
	return r
}
