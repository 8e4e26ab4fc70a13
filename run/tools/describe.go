package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/setup"
)

// Described is what a checkpoint or a net file holds.
type Described struct {
	Path       string  `json:"path"`
	Arch       nn.Arch `json:"arch"`
	Name       string  `json:"name"`
	Parameters int     `json:"parameters"`
	ID         string  `json:"net_id"`
	Manifest   any     `json:"manifest,omitempty"` // around the net; nil of a file

	net *nn.Net
}

// Describe describes a net, and the manifest around it where there is one.
func Describe(path string, net *nn.Net, manifest any) *Described {
	return &Described{path, net.Arch, net.Arch.String(), net.Len(), net.ID(), manifest, net}
}

// Write prints it for a person.
func (d *Described) Write(w io.Writer) error {
	fmt.Fprintf(w, "%s\nnet %s, %d parameters, id %s\n", d.Path, d.Name, d.Parameters, d.ID)
	if d.Manifest != nil {
		text, err := json.MarshalIndent(d.Manifest, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\n", text)
	}
	width := 0
	for _, p := range d.net.Params {
		width = max(width, len(p.Name))
	}
	for _, p := range d.net.Params {
		low, high, mean := p.Data[0], p.Data[0], 0.0
		for _, v := range p.Data {
			low, high, mean = min(low, v), max(high, v), mean+float64(v)
		}
		if _, err := fmt.Fprintf(w, "  %-*s %-16s mean %9.5f  range %9.5f .. %9.5f\n", width, p.Name, fmt.Sprint(p.Shape),
			mean/float64(len(p.Data)), low, high); err != nil {
			return err
		}
	}
	return nil
}

// Probed is what a net says of a position, from the side to move's view.
type Probed struct {
	Net   string       `json:"net"`
	NetID string       `json:"net_id"`
	FEN   string       `json:"fen"`
	End   string       `json:"end,omitempty"` // why the game is over, which the net does not know
	V     float32      `json:"v"`             // W - L
	W     float32      `json:"w"`
	D     float32      `json:"d"`
	L     float32      `json:"l"`
	M     *float32     `json:"m"`     // plies; null without that head
	Moves []ProbedMove `json:"moves"` // the likeliest first
}

// ProbedMove is a legal move as a net sees it.
type ProbedMove struct {
	Move  string  `json:"move"`
	Index uint16  `json:"index"` // in the policy
	P     float32 `json:"p"`     // they sum to 1
}

// Probe evaluates one position on the device of a configuration's players.
func Probe(ctx context.Context, cfg *config.Config, net *Net, h *chess.History) (_ *Probed, err error) {
	player, err := setup.OpenNetPlayer(cfg, net.Net)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, player.Close()) }()
	var legal chess.MoveList
	board := h.Board()
	board.GenerateMoves(&legal)
	ev := player.NewEvaluator(1)
	b := mcts.NewBatch(ev, 1)
	encoding.AppendPosition(b, h, &legal)
	if err := ev.Evaluate(ctx, b); err != nil {
		return nil, err
	}
	p := &Probed{Net: net.Name, NetID: net.ID(), FEN: board.FEN(), W: b.WDL[0][0], D: b.WDL[0][1], L: b.WDL[0][2], Moves: []ProbedMove{}}
	p.V = p.W - p.L
	if net.Arch.Head(nn.MovesLeft) != nil {
		p.M = &b.M[0]
	}
	if end := h.Terminal(legal.N); end != chess.NotOver {
		p.End = end.String()
	}
	for i, m := range legal.Slice() {
		p.Moves = append(p.Moves, ProbedMove{board.UCI(m, board.Castles960()), b.LegalOf(0)[i], b.PriorOf(0)[i]})
	}
	slices.SortStableFunc(p.Moves, func(x, y ProbedMove) int { return cmp.Or(cmp.Compare(y.P, x.P), cmp.Compare(x.Index, y.Index)) })
	return p, nil
}

// Write prints the answer as text.
func (p *Probed) Write(out io.Writer) error {
	m := "no such head"
	if p.M != nil {
		m = fmt.Sprintf("%.1f plies", *p.M)
	}
	fmt.Fprintf(out, "net  %s, id %s\nfen  %s\n", p.Net, p.NetID, p.FEN)
	if p.End != "" {
		fmt.Fprintf(out, "end  %s\n", p.End)
	}
	fmt.Fprintf(out, "V    %+.4f   W %.4f   D %.4f   L %.4f\nM    %s\n\n", p.V, p.W, p.D, p.L, m)
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "move\tindex\tP\t")
	for _, move := range p.Moves {
		fmt.Fprintf(w, "%s\t%d\t%.2f %%\t\n", move.Move, move.Index, 100*move.P)
	}
	return w.Flush()
}
