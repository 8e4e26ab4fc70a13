package lc0

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/record"
)

// downgraded cuts V6 records to an older version by the table of FORMATS.md,
// section 1.
func downgraded(raw []byte, version byte) (out []byte) {
	for ; len(raw) > 0; raw = raw[8356:] {
		r := raw[:8356]
		result := byte(int8(math.Float32frombits(binary.LittleEndian.Uint32(r[8308:]))))
		head := []byte{version, 0, 0, 0}
		if version == 5 {
			head = append(head, r[4:8]...)
		}
		out = append(append(append(out, head...), r[8:8279]...), result)
		out = append(out, r[8280:8280+map[byte]int{3: 0, 4: 16, 5: 28}[version]]...)
	}
	return out
}

// Records of versions 3 to 5 hold what they hold, the rest is unknown; their
// bytes come back.
func TestOldVersions(t *testing.T) {
	raw := bytesOf(t, mate(t), Form{Version: v6Version})
	for version, size := range map[byte]int{3: 8276, 4: 8292, 5: 8308} {
		old := downgraded(raw, version)
		if len(old) != 4*size || RecordSize(uint32(version)) != size {
			t.Fatalf("version %d: %d bytes, want %d a record", version, len(old), size)
		}
		records, err := readChunk(zipped(t, old))
		if err != nil || len(records) != 4 || !bytes.Equal(appendAll(records), old) {
			t.Fatalf("version %d: %d records, %v", version, len(records), err)
		}
		r := &records[1]
		known := func(v encoding.QDM, q, d, m float32) bool {
			same := func(a, b float32) bool { return a == b || a != a && b != b }
			return same(v.Q, q) && same(v.D, d) && same(v.M, m)
		}
		nan := encoding.UnknownQDM.Q
		q, m := float32(.5), float32(40.125)
		d, bestQ, bestM := float32(.25), float32(.375), float32(30.125)
		if version < 5 {
			m, bestM = nan, nan
		}
		if version < 4 {
			q, d, bestQ = nan, nan, nan
		}
		if !known(r.Root, q, d, m) || !known(r.Best, bestQ, d, bestM) || !known(r.Played, nan, nan, nan) || !known(r.Orig, nan, nan, nan) {
			t.Errorf("version %d: root %v, best %v, played %v, orig %v", version, r.Root, r.Best, r.Played, r.Orig)
		}
		if r.Version != uint32(version) || r.InputFormat != 1 || r.ResultQ != 1 || r.ResultD != 0 || r.Visits != 0 || r.PlayedIdx != 65535 || r.BestIdx != 65535 || r.QST == r.QST {
			t.Errorf("version %d: format %d, result %v %v, %d visits, indices %d %d, q_st %v", r.Version, r.InputFormat, r.ResultQ, r.ResultD, r.Visits, r.PlayedIdx, r.BestIdx, r.QST)
		}
		g, err := Game(records)
		if err != nil {
			t.Fatal(err)
		}
		// The last move is told by the result alone: it is the only mate.
		if moves := uciOf(t, g); moves != "f2f3 e7e5 g2g4 d8h4" || g.End != record.EndCheckmate || g.WhiteResult != -1 {
			t.Errorf("version %d: moves %s, %s, result %d", version, moves, g.End, g.WhiteResult)
		}
	}
}

// Random games of older versions in their formats: moves, but perhaps the last,
// policies and the result are found; as version 6 they read again.
func TestOldVersionsOfRandomGames(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 5))
	for _, fen := range starts {
		start := chesstest.Board(t, fen)
		g := line(rng, start, 30, 0)
		for version := byte(3); version <= 5; version++ {
			format := uint32(1)
			if version == 5 {
				format = InputFormats()[rng.IntN(7)]
			}
			if start.Castles960() {
				if format == 1 {
					continue
				}
				g.Flags = record.Chess960
			}
			raw := bytesOf(t, g, Form{InputFormat: format})
			records, err := DecodeRecords(downgraded(raw, version))
			if err != nil {
				t.Fatalf("seed %d, version %d: %v", seed, version, err)
			}
			got, err := Game(records)
			if err != nil {
				t.Fatalf("seed %d, version %d, start %q: %v", seed, version, fen, err)
			}
			want, moves := uciOf(t, g), uciOf(t, got)
			if n := strings.LastIndexByte(want, ' '); moves[:n] != want[:n] || got.WhiteResult != g.WhiteResult || got.Start != g.Start {
				t.Errorf("seed %d, version %d: start %q, moves %s, result %d; want %q, %s, %d", seed, version, got.Start, moves, got.WhiteResult, g.Start, want, g.WhiteResult)
			}
			later := bytesOf(t, got, Form{Version: v6Version})
			if _, err := DecodeRecords(later); err != nil {
				t.Errorf("seed %d, version %d as version 6: %v", seed, version, err)
			}
		}
	}
}

// A chunk has one version and one input format.
func TestMixedChunks(t *testing.T) {
	six := bytesOf(t, mate(t), Form{Version: v6Version})
	seven := bytesOf(t, mate(t), Form{Version: 7})
	two := bytesOf(t, mate(t), Form{InputFormat: 2})
	for want, raw := range map[string][]byte{
		"record 1: corrupt Leela training record: version is 7, that of the records before it 6":      append(six[:V6Size:V6Size], seven...),
		"record 2: corrupt Leela training record: version is 4, that of the records before it 6":      append(six[:2*V6Size:2*V6Size], downgraded(six, 4)...),
		"record 1: corrupt Leela training record: input_format is 2, that of the records before it 1": append(six[:V6Size:V6Size], two...),
	} {
		_, err := DecodeRecords(raw)
		if !errors.Is(err, ErrCorruptRecord) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := readChunk(raw); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("read: %v, want %s", err, want)
		}
	}
}

// A record of version 7: its literal offsets, and its short-term values against
// those of the training rows.
func TestV7(t *testing.T) {
	g := mate(t)
	raw, err := AppendRecords(nil, g, Form{Version: 7, ShortTerm: .75})
	if err != nil || len(raw) != 4*8396 {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	batch, replayer := encoding.NewTrainBatch(4), record.Replayer{Extra: record.Extra{ShortTerm: .75}}
	le := binary.LittleEndian
	for i := range 4 {
		if err := replayer.AppendRow(batch, g, i); err != nil {
			t.Fatal(err)
		}
		r, want := raw[8396*i:][:8396], batch.Targets[i][encoding.TargetST]
		q, d := math.Float32frombits(le.Uint32(r[8352:])), math.Float32frombits(le.Uint32(r[8356:]))
		if le.Uint32(r) != 7 || q != want.Q || d != want.D {
			t.Errorf("record %d: version %d, q_st %v, d_st %v, want %v %v", i, le.Uint32(r), q, d, want.Q, want.D)
		}
		// f2f3 346, e7e5 = e2e4 322, g2g4 378, d8h4 = d1h5
		next := []uint16{322, 378, indexNamed(t, "d1h5"), 65535, 65535}
		if opp, own := le.Uint16(r[8360:]), le.Uint16(r[8362:]); opp != next[i] || own != next[i+1] {
			t.Errorf("record %d: replies %d %d, want %d %d", i, opp, own, next[i], next[i+1])
		}
		if !bytes.Equal(r[8364:], make([]byte, 32)) {
			t.Errorf("record %d: reserved % x", i, r[8364:])
		}
	}
	// Reserved numbers, NaN and odd indices are kept.
	for i := 8356; i < 8396; i++ {
		raw[i] = byte(i)
	}
	le.PutUint32(raw[8352:], 0x7fc00000)
	le.PutUint32(raw[8356:], 0x7fc00000)
	le.PutUint32(raw[8360:], 0xffff<<16|1)
	if _, back := again(t, raw); !bytes.Equal(back, raw) {
		t.Error("the bytes differ")
	}
	records, err := DecodeRecords(raw)
	if err != nil {
		t.Fatal(err)
	}
	old, err := Game(records)
	if err != nil {
		t.Fatal(err)
	}
	six := bytesOf(t, old, Form{Version: v6Version})
	if r, err := DecodeRecords(six); err != nil || r[0].QST != 0 || r[1].QST != records[1].QST {
		t.Errorf("as version 6: %v", err)
	}
}

func indexNamed(t *testing.T, name string) uint16 {
	t.Helper()
	for i := range encoding.NumPolicy {
		if encoding.PolicyString(uint16(i)) == name {
			return uint16(i)
		}
	}
	t.Fatalf("no policy index %s", name)
	return 0
}

// VECTORS.md: canonical positions as records show them.
func TestCanonicalRecords(t *testing.T) {
	v := encoding.QDM{Q: 0, D: .5, M: 3}
	for _, c := range []struct {
		fen, moves  string
		transform   Invariance
		king, their uint64
		sideOrEP    uint8
	}{
		{"3r4/4k3/8/1K6/8/8/8/8 w - - 0 1", "", 7, 1 << 12, 1 << 38, 0},
		{"3r4/4k3/2K5/8/8/8/8/8 w - - 0 1", "", 3, 1 << 21, 1 << 11, 0},
		{chess.StartFEN, "e2e4 g7g6 e4e5 f7f5", 0, 1 << 4, 1 << 60, 1 << 5},
	} {
		start := chesstest.Board(t, c.fen)
		g := &record.Game{NetID: "n", End: record.EndMaxPlies}
		if g.Start = c.fen; start == chess.StartBoard() {
			g.Start = ""
		}
		b := start
		add := func(m chess.Move, kind record.PolicyKind) {
			var l chess.MoveList
			b.GenerateMoves(&l)
			p := record.Ply{Move: m, Root: v, Best: v, Played: v, Orig: v}
			if kind != record.PolicyNone {
				p.Kind, p.Counts, p.Visits, p.Weight = kind, make([]uint32, l.N), 2, 1
				p.Counts[l.Index(m)] = 1
			}
			g.Plies = append(g.Plies, p)
			b.Make(m)
		}
		for s := range strings.FieldsSeq(c.moves) {
			m, err := b.ParseUCI(s)
			if err != nil {
				t.Fatal(err)
			}
			add(m, record.PolicyNone)
		}
		var l chess.MoveList
		b.GenerateMoves(&l)
		add(l.Moves[0], record.PolicyCounts)
		raw := bytesOf(t, g, Form{InputFormat: 3})
		records, err := DecodeRecords(raw)
		if err != nil || len(records) != 1 {
			t.Fatalf("%d records, %v", len(records), err)
		}
		r := &records[0]
		if r.Invariance&7 != c.transform || r.Planes[5] != c.king || r.Planes[11] != c.their || r.SideOrEP != c.sideOrEP {
			t.Errorf("%s: transform %d, kings %#x %#x, en passant %#x", c.fen, r.Invariance, r.Planes[5], r.Planes[11], r.SideOrEP)
		}
		for p := 13; p < 104; p++ {
			if r.Planes[p] != 0 {
				t.Errorf("%s: history plane %d is not empty", c.fen, p)
			}
		}
		got, back := again(t, raw)
		if !bytes.Equal(back, raw) {
			t.Errorf("%s: the bytes differ", c.fen)
		}
		if last := got.Plies[len(got.Plies)-1].Move; last != l.Moves[0] {
			t.Errorf("%s: move %s, want %s", c.fen, last, l.Moves[0])
		}
	}
}
