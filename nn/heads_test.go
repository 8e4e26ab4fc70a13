package nn

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestFurtherHeads: named heads have names and a JSON form, are no part of what plays, and
// any of them can be chosen in the place of the main one.
func TestFurtherHeads(t *testing.T) {
	for _, name := range []string{"16x1-se-optimistic-q-st-aux", "16x1-plain-classical-scalar-pooled-noml-soft-opponent-q", "16x1x2h-optimistic-st"} {
		a, err := ParseArch(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var again Arch
		if err := json.Unmarshal(text, &again); err != nil || !again.Equal(a) || a.String() != name || a.Spelled() != name {
			t.Errorf("%s: %s, read as %s, %v", name, a, again, err)
		}
		n := Init(a, 1)
		p := n.Playing()
		plain, err := ParseArch(p.Arch.String())
		if err != nil || p.Validate() != nil || !plain.Equal(p.Arch) || len(p.Arch.Heads) > 3 || p.Playing() != p {
			t.Errorf("%s plays as %s: %v, %v", name, p.Arch, err, p.Validate())
		}
		if back := p.WithHeads(a, 1); back.ID() != n.ID() || back.Validate() != nil || n.WithHeads(a, 9) != n {
			t.Errorf("%s: with fresh heads it is %s: %v", name, back.Arch, back.Validate())
		}
		for _, h := range a.Heads {
			want := [2]string{h.Name, ""}
			if h.Name == "" {
				continue
			}
			if h.Output == Value {
				want = [2]string{"", h.Name}
			}
			got, others, err := n.Choose(want[0], want[1])
			if err = errors.Join(err, got.Validate()); err != nil || got.Arch.Named(h.Output, h.Name) != nil {
				t.Errorf("%s, %v chosen: %s, %v", name, want, got.Arch, err)
			}
			if len(others) != len(a.Heads)-len(got.Arch.Heads) || !strings.HasPrefix(others[0], h.Output+" "+mainNames[h.Output]) {
				t.Errorf("%s, %v chosen: without %q", name, want, others)
			}
			for _, p := range got.Params {
				from := p.Name
				if rest, ok := strings.CutPrefix(from, h.Output+"."); ok {
					from = h.Prefix() + "." + rest
				}
				if !slices.Equal(p.Data, n.Get(from)) {
					t.Errorf("%s, %v chosen: another %s", name, want, p.Name)
				}
			}
		}
	}
}

// TestChooseRefuses names the heads that there are.
func TestChooseRefuses(t *testing.T) {
	a := DefaultArch().WithHead(Policy, "soft")
	for say, want := range map[string][2]string{
		`no such head: policy "optimistic", the net has vanilla, soft`: {"optimistic", ""},
		`no such head: policy "winner", the net has vanilla, soft`:     {"winner", ""},
		`no such head: value "q", the net has winner`:                  {"soft", "q"},
	} {
		if _, _, err := Init(a, 1).Choose(want[0], want[1]); !errors.Is(err, ErrNoHead) || !strings.Contains(err.Error(), say) {
			t.Errorf("%v, want %q", err, say)
		}
	}
	sparse := SparseArch(SparseBlock)
	for _, same := range []Arch{a.WithHead(Policy, "soft"), a.WithHead(Policy, "q"), a.WithHead(MovesLeft, ""), a.WithHead(Value, "winner")} {
		if !same.Equal(a) {
			t.Errorf("%s has other heads than %s", same, a)
		}
	}
	if !sparse.WithHead(Value, "q").Equal(sparse) {
		t.Error("a sparse net has a further head")
	}
}

// TestForecasts: forecasts of errors and categories are outputs more of a value head. They
// have a JSON form.
func TestForecasts(t *testing.T) {
	a := DefaultArch().WithHead(Value, "q").WithForecasts("q", 1, 0).WithForecasts("", 1, 0).WithForecasts("q", 0, 5).WithForecasts("q", 1, 7)
	n := Init(DefaultArch(), 1).WithHeads(a, 2)
	text, err := json.Marshal(a)
	var again Arch
	if err = errors.Join(err, json.Unmarshal(text, &again), n.Validate()); err != nil || !again.Equal(a) || !strings.Contains(string(text), `"errors":1,"categories":5`) {
		t.Errorf("%s: %v", text, err)
	}
	if len(n.Get("value.error.weight")) != 128 || len(n.Get("value.q.error.bias")) != 1 || a.Head(Value).Outputs() != 3 ||
		len(n.Get("value.q.categories.weight")) != 5*128 || n.Get("value.categories.bias") != nil {
		t.Errorf("%+v", Specs(a))
	}
	sparse := SparseArch(SparseBlock)
	if !sparse.WithForecasts("", 1, 3).Equal(sparse) || !a.WithForecasts("st", 1, 3).Equal(a) || DefaultArch().Head(Value).Forecasts() {
		t.Error("a head that cannot be, or another net's, has forecasts")
	}
}

// TestFurtherHeadsInit: a further head begins as small as the main one, with numbers of its own.
func TestFurtherHeadsInit(t *testing.T) {
	a, err := ParseArch("16x1x2h-soft-q-st")
	if err != nil {
		t.Fatal(err)
	}
	n := Init(a.WithForecasts("", 0, 3), 3)
	for name, main := range map[string]string{"policy.soft.q.weight": "policy.q.weight",
		"value.q.fc2.weight": "value.fc2.weight", "value.categories.weight": "value.fc2.weight", "value.st.fc1.weight": "value.fc1.weight"} {
		x, y := n.Get(name), n.Get(main)
		if ratio := meanSquare(x) / meanSquare(y); len(x) != len(y) || slices.Equal(x, y) || ratio < .7 || ratio > 1.4 {
			t.Errorf("%s begins with %v of %s's mean square", name, ratio, main)
		}
	}
}

func meanSquare(x []float32) (sum float32) {
	for _, v := range x {
		sum += v * v / float32(len(x))
	}
	return sum
}
