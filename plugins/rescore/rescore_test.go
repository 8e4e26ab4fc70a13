package rescore

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// custom rescores with a function.
type custom struct {
	name string
	fn   func(*record.Game) (*record.Game, error)
}

func (c custom) Name() string { return c.name }
func (c custom) Rescore(_ context.Context, g *record.Game) (*record.Game, error) {
	return c.fn(g)
}

// program is a stage whose errors name it, as those of plugins do.
type program struct{ custom }

var errProgram = errors.New("rescorer bad: gave no answer")

func (program) Err() error { return errProgram }
func (program) RescoreBatch(context.Context, []*record.Game) ([]*record.Game, error) {
	return nil, errProgram
}

// TestNamedOnce: a part's name stands in an error once.
func TestNamedOnce(t *testing.T) {
	c := Chain{program{custom{name: "bad"}}}
	if _, err := c.Rescore(context.Background(), &record.Game{}); err == nil || err.Error() != errProgram.Error() {
		t.Errorf("Rescore: %v", err)
	}
	if err := c.Err(); err == nil || err.Error() != errProgram.Error() {
		t.Errorf("Err: %v", err)
	}
}

func TestIdentity(t *testing.T) {
	r, err := New("identity", nil)
	if err != nil || r.Name() != "identity" {
		t.Fatal(r, err)
	}
	g := &record.Game{Ordinal: 4}
	if got, err := r.Rescore(context.Background(), g); got != g || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := New("nothing", nil); err == nil || !strings.Contains(err.Error(), "identity") {
		t.Errorf("unknown name: %v", err)
	}
}

func TestChain(t *testing.T) {
	failed := errors.New("failed")
	result := func(r int8) custom {
		return custom{"result", func(g *record.Game) (*record.Game, error) {
			c := g.Clone()
			c.WhiteResult = r
			return c, nil
		}}
	}
	for name, c := range map[string]struct {
		chain Chain
		want  int8
		err   string
	}{
		"empty":          {nil, 0, ""},
		"in order":       {Chain{result(1), Identity{}, result(-1)}, -1, ""},
		"error":          {Chain{custom{"bad", func(*record.Game) (*record.Game, error) { return nil, failed }}}, 0, "rescorer bad"},
		"nil":            {Chain{custom{"nil", func(*record.Game) (*record.Game, error) { return nil, nil }}}, 0, "another game"},
		"another game":   {Chain{custom{"x", func(*record.Game) (*record.Game, error) { return &record.Game{ID: [16]byte{1}}, nil }}}, 0, "another game"},
		"invalid result": {Chain{result(7)}, 0, "invalid result"},
	} {
		g := &record.Game{}
		got, err := c.chain.Rescore(context.Background(), g)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", name, err, c.err)
			}
			continue
		}
		if err != nil || got.WhiteResult != c.want || g.WhiteResult != 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if got := (Chain{Identity{}, result(1)}).Name(); got != "identity,result" {
		t.Errorf("name %q", got)
	}
	var _ stage.Rescorer = Chain{}
}
