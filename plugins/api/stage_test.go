package api

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// settled is a definition with a setting of each sort.
func settled() *stage.Definition {
	d := rescoring(func(_ context.Context, g *record.Game) (*record.Game, error) { return g, nil }, stage.Deterministic, "own-idea")
	d.Concurrency = 3
	d.Settings = []stage.Setting{
		{Name: "number", Doc: "a number, Q", Default: "0.5", Min: -1, Max: 1},
		{Name: "whole", Doc: "a count", Default: "3", Min: 0, Max: math.Inf(1), Whole: true},
		{Name: "word", Doc: "a word", Default: "", Text: true},
		{Name: "choice", Doc: "a choice", Default: "b", Text: true, Choices: []string{"a", "b"}},
	}
	return d
}

// All that a definition says arrives.
func TestDescribe(t *testing.T) {
	want := settled()
	c := dial(t, func(s *grpc.Server) { Register(s, want) })
	got, err := c.Describe(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got.NewRescorer != nil {
		t.Error("a definition that came over the wire makes rescorers")
	}
	want.NewRescorer = nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// A description that cannot be used or printed is refused.
func TestDescribeFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*pluginpb.Description)
		want   string
	}{
		{"kind", func(p *pluginpb.Description) { p.Kind = "publisher" }, "unknown kind"},
		{"name", func(p *pluginpb.Description) { p.Name = "../x" }, "stage name"},
		{"no name", func(p *pluginpb.Description) { p.Name = "" }, "stage name"},
		{"version", func(p *pluginpb.Description) { p.Version = strings.Repeat("1", 41) }, "version: 41 bytes"},
		{"escape sequence", func(p *pluginpb.Description) { p.Doc = "red \x1b[31m" }, "doc"},
		{"line break", func(p *pluginpb.Description) { p.Settings[0].Doc = "a\nb" }, "setting's doc"},
		{"long doc", func(p *pluginpb.Description) { p.Doc = strings.Repeat("x", 1001) }, "doc: 1001 bytes"},
		{"capability", func(p *pluginpb.Description) { p.Capabilities[0] = "Big Words" }, "capability"},
		{"capabilities", func(p *pluginpb.Description) { p.Capabilities = make([]string, 65) }, "65 capabilities"},
		{"concurrency", func(p *pluginpb.Description) { p.Concurrency = -1 }, "concurrency"},
		{"setting name", func(p *pluginpb.Description) { p.Settings[0].Name = "a b" }, "setting name"},
		{"setting twice", func(p *pluginpb.Description) { p.Settings[0].Name = "whole" }, "twice"},
		{"NaN bound", func(p *pluginpb.Description) { p.Settings[0].Min = math.NaN() }, "no number"},
		{"default out of range", func(p *pluginpb.Description) { p.Settings[0].DefaultValue = "2" }, "default"},
		{"settings", func(p *pluginpb.Description) { p.Settings = make([]*pluginpb.Setting, 257) }, "257 settings"},
		{"choices", func(p *pluginpb.Description) { p.Settings[3].Choices = make([]string, 1001) }, "1001 choices"},
		{"choice", func(p *pluginpb.Description) { p.Settings[3].Choices[0] = "\a" }, "choice"},
		{"default's letters", func(p *pluginpb.Description) { p.Settings[2].DefaultValue = "\u202e\x00" }, "default"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := encodeDefinition(settled())
			c.change(p)
			_, err := decodeDefinition(p)
			if wantError(t, err, c.want); !errors.Is(err, ErrAnswer) {
				t.Errorf("%v does not wrap ErrAnswer", err)
			}
		})
	}
}

// A description that is too large is not even decoded.
func TestDescribeTooLarge(t *testing.T) {
	d := rescoring(nil)
	d.Settings = make([]stage.Setting, maxDescription/2)
	c := dial(t, func(s *grpc.Server) { Register(s, d) })
	if _, err := c.Describe(context.Background()); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("got %.200v", err)
	}
}

// The JSON of a definition has its literal values; infinite bounds are left out.
func TestDescribeJSON(t *testing.T) {
	text, err := DescribeJSON(settled())
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got["kind"] != "rescorer" || got["name"] != "test" || got["version"] != "1.0.0" || got["concurrency"] != 3.0 || got["protocol"] != float64(ProtocolVersion) {
		t.Errorf("got %s", text)
	}
	settings := got["settings"].([]any)
	number, whole := settings[0].(map[string]any), settings[1].(map[string]any)
	if number["default"] != "0.5" || number["min"] != -1.0 || number["max"] != 1.0 || whole["whole"] != true || whole["max"] != nil || len(settings) != 4 {
		t.Errorf("got %s", text)
	}
}

// Open hands the settings over, once.
func TestOpen(t *testing.T) {
	d := settled()
	var got stage.Values
	d.NewRescorer = func(v stage.Values) (stage.Rescorer, error) {
		if got = v; v.Text("word") == "no" {
			return nil, errors.New("setting word: no such file")
		}
		return rescoreFunc(nil), nil
	}
	ctx := context.Background()
	c := dial(t, func(s *grpc.Server) { Register(s, d) })
	said, err := c.Describe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = newRescorer(c, said).Rescore(ctx, literalGame())
	if wantError(t, err, "not open"); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a call before Open: %v", err)
	}
	wantError(t, c.Open(ctx, said, map[string]string{"nmber": "1"}), "unknown setting", "nmber")
	wantError(t, c.Open(ctx, said, map[string]string{"number": "1.5"}), "setting number", "-1 to 1")
	err = c.Open(ctx, said, map[string]string{"word": "no"})
	if wantError(t, err, "setting word: no such file"); status.Code(err) != codes.InvalidArgument || strings.Contains(err.Error(), "rpc error") {
		t.Errorf("refused by the stage: %v", err)
	}
	if err := c.Open(ctx, said, map[string]string{"number": "0.25", "choice": "a"}); err != nil {
		t.Fatal(err)
	}
	if got.Number("number") != 0.25 || got.Number("whole") != 3 || got.Text("choice") != "a" || got.Text("word") != "" {
		t.Errorf("the stage was given %+v", got)
	}
	if err := c.Open(ctx, said, nil); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a second Open: %v", err)
	}
	if _, err := c.Describe(ctx); err != nil {
		t.Errorf("Describe after Open: %v", err)
	}
}

// The plugin checks settings itself, too: another host may not.
func TestOpenUnchecked(t *testing.T) {
	c := dial(t, func(s *grpc.Server) { Register(s, settled()) })
	lax := rescoring(nil)
	lax.Settings = []stage.Setting{{Name: "number", Text: true}}
	if err := c.Open(context.Background(), lax, map[string]string{"number": "many"}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("got %v", err)
	}
}

// A panic in the making of a stage is an error, and another Open may follow.
func TestOpenPanic(t *testing.T) {
	d := rescoring(nil)
	again := d.NewRescorer
	d.NewRescorer = func(stage.Values) (stage.Rescorer, error) {
		d.NewRescorer = again
		panic("no luck")
	}
	ctx := context.Background()
	c := dial(t, func(s *grpc.Server) { Register(s, d) })
	wantError(t, c.Open(ctx, d, nil), "panic: no luck")
	if err := c.Open(ctx, d, nil); err != nil {
		t.Error(err)
	}
}

// Calls that the kind does not have, and a definition without a New function.
func TestWrongKind(t *testing.T) {
	ctx := context.Background()
	c, d := open(t, settled(), nil)
	if _, _, err := NewSampler(ctx, c, d).Sample(ctx, stage.Draw{}, nil); status.Code(err) != codes.Unimplemented {
		t.Errorf("a sampler of a rescorer: %v", err)
	}
	none := settled()
	none.NewRescorer = nil
	c = dial(t, func(s *grpc.Server) { Register(s, none) })
	if err := c.Open(ctx, none, nil); status.Code(err) != codes.Unimplemented {
		t.Errorf("a definition that makes nothing: %v", err)
	}
	none.NewRescorer = func(stage.Values) (stage.Rescorer, error) { return nil, nil }
	wantError(t, c.Open(ctx, none, nil), "returned nothing")
}

// explain keeps status and context errors.
func TestExplain(t *testing.T) {
	for _, c := range []struct {
		err  error
		is   error
		code codes.Code
		text string
	}{
		{status.Error(codes.Canceled, "x"), context.Canceled, codes.Canceled, "draw: cancelled"},
		{status.Error(codes.DeadlineExceeded, "x"), context.DeadlineExceeded, codes.DeadlineExceeded, "draw: no answer in time"},
		{status.Error(codes.Unavailable, "EOF"), nil, codes.Unavailable, "draw: the plugin is not there any more: EOF"},
		{status.Error(codes.Internal, "panic: x"), nil, codes.Internal, "draw: panic: x"},
		{errors.New("plain"), nil, codes.Unknown, "draw: plain"},
	} {
		err := explain("draw", c.err)
		if err.Error() != c.text || status.Code(err) != c.code || !errors.Is(err, c.err) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%v: got %v of code %v", c.err, err, status.Code(err))
		}
	}
	if explain("draw", nil) != nil {
		t.Error("no error became one")
	}
}
