package sample

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/stage"
)

// lines is an Index of one game whose row k has weight k+1.
type lines int

func (n lines) NumGames() int     { return min(1, int(n)) }
func (n lines) NumRows() int      { return int(n) }
func (n lines) WeightSum() uint64 { return uint64(n) * uint64(n+1) / 2 }
func (n lines) Game(int) stage.GameInfo {
	return stage.GameInfo{Seq: 5, NumRows: int(n), Weight: n.WeightSum()}
}
func (n lines) Row(_, k int) stage.RowInfo {
	return stage.RowInfo{Ply: int32(k), Weight: uint64(k + 1)}
}
func (n lines) NthRow(k int) (uint64, int32) { return 5, int32(k) }
func (n lines) Find(game uint64) (int, bool) { return 0, game == 5 }
func (n lines) RowAt(u uint64) (uint64, int32) {
	k := uint64(0)
	for u > k {
		u, k = u-k-1, k+1
	}
	return 5, int32(k)
}

func TestUniformResume(t *testing.T) {
	ctx := context.Background()
	u := NewUniform()
	u.Seed(3, 4)
	first, err := u.Sample(ctx, lines(9), 100, nil)
	if err != nil || len(first) != 100 {
		t.Fatal(err)
	}
	var state bytes.Buffer
	if err := u.Section().Save(&state); err != nil {
		t.Fatal(err)
	}
	want, _ := u.Sample(ctx, lines(9), 100, nil)
	again := NewUniform()
	if err := again.Section().Load(bytes.NewReader(state.Bytes()), uniformVersion); err != nil {
		t.Fatal(err)
	}
	if got, _ := again.Sample(ctx, lines(9), 100, nil); !slices.Equal(got, want) || slices.Equal(got, first) {
		t.Error("other rows after loading the state")
	}
	for _, bad := range [][]byte{nil, state.Bytes()[:5]} {
		if err := again.Section().Load(bytes.NewReader(bad), uniformVersion); err == nil {
			t.Errorf("state of %d bytes was loaded", len(bad))
		}
	}
	if err := again.Section().Load(bytes.NewReader(state.Bytes()), 2); err == nil {
		t.Error("an unknown version was loaded")
	}
	a, _ := u.Sample(ctx, lines(9), 50, nil)
	if b, _ := again.Sample(ctx, lines(9), 50, nil); !slices.Equal(a, b) {
		t.Error("a failed load changed the state")
	}
}

func TestUniformErrors(t *testing.T) {
	if _, err := NewUniform().Sample(context.Background(), lines(0), 1, nil); !errors.Is(err, ErrNoRows) {
		t.Errorf("empty index: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := NewUniform().Sample(ctx, lines(3), 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestNew(t *testing.T) {
	for _, name := range Names() {
		if s, err := New(name); err != nil || s.Name() != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New("unifrom"); err == nil {
		t.Error("an unknown name was accepted")
	}
}
