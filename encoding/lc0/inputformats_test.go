package lc0

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/golden"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cpu"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

var engine = flag.String("lc0", "", "an lc0 that writes evals-formats.tsv anew")

// formatPositions are where formats differ: files of castling rooks, en passant, now and
// on the way, lost castling rights, boards that are turned, on the diagonal too,
// repetitions with others between, counters of rule50.
var formatPositions = []string{
	"startpos moves e2e4",
	"fen bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
	"fen rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3",
	"startpos moves g1f3 g8f6 h1g1 b8c6",
	"startpos moves e2e4 g7g6 e4e5 f7f5 g1f3 b8c6",
	"startpos moves g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 b1c3 f6g8 c3b1 g8f6 f3g1 f6g8 b1c3 b8c6 c3b1 c6b8",
	"fen 8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 40 60 moves b4c4 h5g5 c4b4 g5h5 b4a4 h5g5 a4b4",
	"fen 8/8/4k3/8/2q5/8/1K6/7R w - - 7 60 moves h1h2 e6e5 h2h1",
	"fen 4k3/7Q/8/8/8/5K2/8/8 w - - 9 70",
	"fen 8/5k2/8/3b4/8/2N5/8/R5K1 b - - 99 90",
	"fen 2k5/8/8/8/8/8/8/Q5K1 b - - 3 60 moves c8b7 a1h8 b7c7 h8a1 c7c8 g1g2",
}

// formatNet is the net of the examples as one of another input format. What it makes of
// the planes that formats fill in their own ways is enlarged: else they would hardly show.
func formatNet(t *testing.T, f encoding.InputFormat) (*nn.Net, []byte) {
	t.Helper()
	n := readShared(t, golden.Path(t, "leela", "se32x2.pb.gz"))
	n.Arch.Blocks[0].InputFormat = int(f)
	w := n.Get("input.conv.weight")
	for i := range w {
		if plane := i / 9 % encoding.NumPlanes; plane >= encoding.NumMasks && plane != 109 && plane != 111 {
			w[i] *= 8
		}
	}
	file := writtenNet(t, n, nil, Linear16)
	n, _ = readBack(t, file)
	if n.Arch.InputFormat() != f {
		t.Fatalf("written in input format %d, read in %d", f, n.Arch.InputFormat())
	}
	return n, file
}

// TestInputFormats holds nets of all input formats against what lc0 says of positions, as
// TestAgainstLeela does.
func TestInputFormats(t *testing.T) {
	path := golden.Path(t, "leela", "evals-formats.tsv")
	if *engine != "" {
		askEngine(t, path)
	}
	evals := readEvals(t, path)
	if formats := encoding.InputFormats(); len(evals) != len(formats)*len(formatPositions) {
		t.Fatalf("%d evaluations", len(evals))
	}
	for i, f := range encoding.InputFormats() {
		n, _ := formatNet(t, f)
		packed, err := cpu.New(n, kernel.FP32)
		if err != nil {
			t.Fatal(err)
		}
		list := evals[i*len(formatPositions):][:len(formatPositions)]
		b := encoding.NewBatch(len(list))
		b.Format = f
		for _, p := range list {
			var l chess.MoveList
			p.history.Board().GenerateMoves(&l)
			encoding.AppendPosition(b, p.history, &l)
		}
		if err := packed.NewEvaluator(4).Evaluate(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		for k := range list {
			turned := encoding.Transform(0)
			if f >= encoding.FormatCanonical {
				turned = encoding.CanonicalTransform(list[k].history.Board())
			}
			turn(b.LegalOf(k), turned.Inverse()) // lc0 names moves as they are played
			list[k].check(t, fmt.Sprintf("format %d", f), b, k)
		}
	}
}

// turn changes indices of moves.
func turn(indices []uint16, by encoding.Transform) {
	for i, idx := range indices {
		indices[i] = encoding.PolicyImages()[by][idx]
	}
}

var (
	nodeLine = regexp.MustCompile(`^info string node .*\(D: ([0-9.]+)\) \(M: *([0-9.]+)\).*\(V: *([-0-9.]+)\)`)
	moveLine = regexp.MustCompile(`^info string ([a-h][1-8][a-h][1-8][qrbn]?) *\(([0-9]+) *\).*\(P: *([0-9.]+)%\)`)
)

// askEngine writes what lc0 says.
func askEngine(t *testing.T, path string) {
	out := bytes.NewBufferString("# lc0 (BLAS, float32) on the nets of TestInputFormats, as evals-se32x2.tsv; formats in the order of encoding.InputFormats.\n")
	for _, f := range encoding.InputFormats() {
		_, data := formatNet(t, f)
		file := filepath.Join(t.TempDir(), "net.pb.gz")
		filetest.Write(t, file, data)
		c := exec.Command(*engine, "--weights="+file, "--backend=blas", "--policy-softmax-temp=1", "--verbose-move-stats", "--history-fill=no", "--threads=1")
		in, err1 := c.StdinPipe()
		lines, err2 := c.StdoutPipe()
		if err1 != nil || err2 != nil || c.Start() != nil {
			t.Fatalf("%s does not start", *engine)
		}
		s := bufio.NewScanner(lines)
		fmt.Fprintln(in, "setoption name UCI_Chess960 value true")
		for _, position := range formatPositions {
			fmt.Fprintf(in, "ucinewgame\nposition %s\ngo nodes 1\n", position)
			var node, moves []string
			for s.Scan() && !strings.HasPrefix(s.Text(), "bestmove") {
				if m := moveLine.FindStringSubmatch(s.Text()); m != nil {
					moves = append(moves, strings.Join(m[1:], ":"))
				} else if m := nodeLine.FindStringSubmatch(s.Text()); m != nil {
					node = m[1:]
				}
			}
			if node == nil || len(moves) == 0 {
				t.Fatalf("format %d, %s: no answer", f, position)
			}
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", position, node[2], node[0], node[1], strings.Join(moves, " "))
		}
		fmt.Fprintln(in, "quit")
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	filetest.Write(t, path, out.Bytes())
}
