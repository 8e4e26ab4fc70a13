package selfplay

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chessbrain/chessbrain/chess"
)

// oneUnfinished returns a game of some plies and its bytes.
func oneUnfinished(t testing.TB) (Unfinished, []byte) {
	t.Helper()
	cfg := worker(new(collector), NewTickets(5, 1))
	cfg.Game = stopGame(true)
	w, err := NewWorker(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	w.cfg.Nets = FixedNet{"hash", &stopping{left: 40, stop: stop}}
	if err := w.Run(ctx); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	u := w.Unfinished()[0]
	if len(u.rec.Plies) < 4 || len(u.rec.Plies[3].Counts) == 0 || u.Finished() || u.Ordinal() != 5 || u.rec.NetID != "hash" {
		t.Fatalf("game %d of net %s with %d plies", u.Ordinal(), u.rec.NetID, len(u.rec.Plies))
	}
	b, err := u.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return u, b
}

func TestUnfinishedThroughBytes(t *testing.T) {
	want, b := oneUnfinished(t)
	var got Unfinished
	if err := got.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Unfinished{}, gameState{}), cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("another game after the bytes:\n%.1000s", diff)
	}
}

func TestUnfinishedDetectsEveryDamage(t *testing.T) {
	_, b := oneUnfinished(t)
	var u Unfinished
	for n := range b {
		if err := u.UnmarshalBinary(b[:n]); !errors.Is(err, ErrUnfinished) {
			t.Fatalf("first %d of %d bytes: %v", n, len(b), err)
		}
	}
	if err := u.UnmarshalBinary(append(slices.Clone(b), 0)); !errors.Is(err, ErrUnfinished) {
		t.Errorf("a byte too many: %v", err)
	}
	for i := range len(b) * 8 {
		b[i/8] ^= 1 << (i % 8)
		if err := u.UnmarshalBinary(b); !errors.Is(err, ErrUnfinished) {
			t.Fatalf("bit %d of byte %d flipped: %v", i%8, i/8, err)
		}
		b[i/8] ^= 1 << (i % 8)
	}
	b[len(unfinishedMagic)]++
	if err := u.UnmarshalBinary(b); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("a later version: %v", err)
	}
}

// seal makes an unfinished game's bytes from a body, with right length and sum.
func seal(body []byte) []byte {
	b := append([]byte(unfinishedMagic), unfinishedVersion)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	b = append(b, body...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

func TestUnfinishedRefusesWhatNoGameWrites(t *testing.T) {
	for name, c := range map[string]struct {
		change func(u *Unfinished)
		want   string
	}{
		"stream":   {func(u *Unfinished) { u.state.Streams[1][0]++ }, "random stream 2"},
		"resigner": {func(u *Unfinished) { u.state.Resigner = 2 }, "colour 2"},
		"resign q": {func(u *Unfinished) { u.state.Resign.Q = math.NaN() }, "resign rule"},
		"over": {func(u *Unfinished) {
			u.rec.Start, u.rec.Plies = "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", nil
		}, "stalemate"},
	} {
		u, _ := oneUnfinished(t)
		u.rec = u.rec.Clone()
		c.change(&u)
		b, err := u.MarshalBinary()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := new(Unfinished).UnmarshalBinary(b); !errors.Is(err, ErrUnfinished) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	u, b := oneUnfinished(t)
	body := slices.Clone(b[unfinishedHead : len(b)-crcSize])
	if !bytes.Equal(seal(body), b) {
		t.Error("the layout is not the documented one")
	}
	body[stateSize-17-1-8] = 2 // a truth value that is neither 0 nor 1
	for name, body := range map[string][]byte{
		"no record":     body[:stateSize],
		"trailing byte": append(slices.Clone(b[unfinishedHead:len(b)-crcSize]), 0),
		"illegal move":  illegal(u, b),
	} {
		if err := new(Unfinished).UnmarshalBinary(seal(body)); !errors.Is(err, ErrUnfinished) {
			t.Errorf("%s: %v", name, err)
		}
	}
	u.rec.Plies[len(u.rec.Plies)-1].Move = chess.NewMove(0, 63, 0)
	if _, err := u.MarshalBinary(); err == nil {
		t.Error("an illegal move was written")
	}
}

// illegal returns u's body with a record whose moves and sum do not fit.
func illegal(u Unfinished, b []byte) []byte {
	body := slices.Clone(b[unfinishedHead : len(b)-crcSize])
	move := binary.LittleEndian.AppendUint16(nil, uint16(u.rec.Plies[0].Move))
	at := stateSize + bytes.Index(body[stateSize:], move)
	body[at] ^= 7
	return body
}

// FuzzUnfinished: no panic, and what is accepted can be played on.
func FuzzUnfinished(f *testing.F) {
	_, b := oneUnfinished(f)
	f.Add(b[unfinishedHead : len(b)-crcSize])
	f.Add([]byte{})
	cfg := WorkerConfig{Game: short()}
	g := newGame(&cfg.Game, nil)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, src := range [][]byte{body, seal(body)} {
			var u Unfinished
			if err := u.UnmarshalBinary(src); err != nil {
				if !errors.Is(err, ErrUnfinished) {
					t.Fatal(err)
				}
				continue
			}
			if again, err := u.MarshalBinary(); err != nil || !bytes.Equal(again, src) {
				t.Fatalf("encode(decode(x)) != x: %v", err)
			}
			if u.Finished() {
				continue
			}
			g.resume(&cfg, &u, Net{ID: "n"})
			if root := g.search.Root(); len(root.Moves) == 0 {
				t.Fatal("nothing to play")
			}
		}
	})
}
