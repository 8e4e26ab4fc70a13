package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/run/setup"
)

func newProbe() *cobra.Command {
	var spec, position, device string
	var asJSON bool
	c := &cobra.Command{
		Use:   "probe --net NET --position POSITION",
		Short: "Show what a net says of a position: value, moves left, policy",
		Long: `Asks a net about one position, in fp32 and without a search: V = W - L in [-1,1], the
probabilities of win, draw and loss, the plies left (M), and each legal move with
its policy index (0..1857) and probability. All from the side to move's view;
moves in UCI notation.

NET is ` + netForms + `.
POSITION is what UCI's position command takes: startpos [moves ...] or fen FEN
[moves ...]. The moves are the history that the net sees.`,
		Example: `  chessbrain probe --net runs/chessbrain --position 'startpos moves e2e4 c7c5'
  chessbrain probe --net leela.pb.gz --position 'fen 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1' --json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if spec == "" {
				return usagef("--net: name a net: %s", netForms)
			}
			history, err := parsePosition(position)
			if err != nil {
				return usagef("--position: %w", err)
			}
			cfg, err := playDevice(c, device, kernel.FP32.String())
			if err != nil {
				return err
			}
			net, err := openNet(spec)
			if err != nil {
				return fmt.Errorf("--net: %w", err)
			}
			answer, err := probe(c.Context(), cfg, net, history)
			if err != nil {
				return err
			}
			return answer.write(c.OutOrStdout(), asJSON)
		},
	}
	f := c.Flags()
	f.StringVar(&spec, "net", "", "the net")
	f.StringVar(&position, "position", "startpos", "startpos or fen FEN, and moves")
	f.BoolVar(&asJSON, "json", false, "one JSON object")
	bindPlayDevice(c, &device, "cpu", nil)
	return c
}

// parsePosition reads the arguments of UCI's position command.
func parsePosition(text string) (*chess.History, error) {
	fields := strings.Fields(text)
	end := slices.Index(fields, "moves")
	var moves []string
	if end >= 0 {
		fields, moves = fields[:end], fields[end+1:]
	}
	board := chess.StartBoard()
	switch {
	case len(fields) > 1 && fields[0] == "fen":
		var err error
		if board, err = chess.ParseFEN(strings.Join(fields[1:], " ")); err != nil {
			return nil, err
		}
	case len(fields) != 1 || fields[0] != "startpos":
		return nil, fmt.Errorf("%q: want startpos or fen FEN, each perhaps followed by moves and moves in UCI notation", text)
	}
	h := chess.NewHistory(board)
	for i, s := range moves {
		m, err := h.Board().ParseUCI(s)
		if err != nil {
			return nil, fmt.Errorf("move %d: %w", i+1, err)
		}
		h.Push(m)
	}
	return h, nil
}

// probed is what a net says of a position, from the side to move's view.
type probed struct {
	Net   string       `json:"net"`
	NetID string       `json:"net_id"`
	FEN   string       `json:"fen"`
	End   string       `json:"end,omitempty"` // why the game is over, which the net does not know
	V     float32      `json:"v"`             // W - L
	W     float32      `json:"w"`
	D     float32      `json:"d"`
	L     float32      `json:"l"`
	M     *float32     `json:"m"`     // plies; null without that head
	Moves []probedMove `json:"moves"` // the likeliest first
}

type probedMove struct {
	Move  string  `json:"move"`
	Index uint16  `json:"index"` // in the policy
	P     float32 `json:"p"`     // they sum to 1
}

// probe evaluates one position on the device of a configuration's players.
func probe(ctx context.Context, cfg *config.Config, net *anyNet, h *chess.History) (_ *probed, err error) {
	player, err := setup.OpenNetPlayer(cfg, net.Net)
	if err != nil {
		return nil, err
	}
	defer closeAfter(&err, player)
	var legal chess.MoveList
	board := h.Board()
	board.GenerateMoves(&legal)
	b := encoding.NewBatch(1)
	encoding.AppendPosition(b, h, &legal)
	if err := player.NewEvaluator(1).Evaluate(ctx, b); err != nil {
		return nil, err
	}
	p := &probed{Net: net.name, NetID: net.ID(), FEN: board.FEN(), W: b.WDL[0][0], D: b.WDL[0][1], L: b.WDL[0][2], Moves: []probedMove{}}
	p.V = p.W - p.L
	if net.Arch.MovesLeft {
		p.M = &b.M[0]
	}
	if end := h.Terminal(legal.N); end != chess.NotOver {
		p.End = end.String()
	}
	for i, m := range legal.Slice() {
		p.Moves = append(p.Moves, probedMove{board.UCI(m, chess960(board)), b.LegalOf(0)[i], b.PriorOf(0)[i]})
	}
	slices.SortStableFunc(p.Moves, func(x, y probedMove) int {
		switch {
		case x.P != y.P && x.P > y.P:
			return -1
		case x.P != y.P:
			return 1
		}
		return int(x.Index) - int(y.Index)
	})
	return p, nil
}

// write prints the answer as text or as one JSON object.
func (p *probed) write(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(p)
	}
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
