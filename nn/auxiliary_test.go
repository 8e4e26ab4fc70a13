package nn

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestAuxiliary: the head has a name and a JSON form, and is no part of what plays.
func TestAuxiliary(t *testing.T) {
	for _, name := range []string{"16x1-se-aux", "16x1-plain-pooled-noml-aux", "sparse64-aux", "sparse64-v16-noml-aux"} {
		a, err := ParseArch(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var again Arch
		if err := json.Unmarshal(text, &again); err != nil || !again.Equal(a) || a.String() != name || !a.WithAuxiliary().Equal(a) {
			t.Errorf("%s: %s, read as %s, %v", name, a, again, err)
		}
		n := Init(a, 1)
		p := n.Playing()
		if err := p.Validate(); err != nil || p.Arch.Head(Auxiliary) != nil || p.Arch.String() != name[:len(name)-len("-aux")] {
			t.Errorf("%s plays as %s: %v", name, p.Arch, err)
		}
		for i, param := range p.Params {
			if !slices.Equal(param.Data, n.Params[i].Data) {
				t.Errorf("%s: another %s", name, param.Name)
			}
		}
		if p.Playing() != p || n.WithHeads(a, 9) != n {
			t.Error("a net without the head, or with it, is copied")
		}
		if again := p.WithHeads(a, 9); !again.Arch.Equal(a) || again.Validate() != nil || again.Playing().ID() != p.ID() {
			t.Errorf("%s: with a fresh head %s: %v", name, again.Arch, again.Validate())
		}
		if !a.Sparse() && len(Fold(n).Heads) != len(p.Arch.Heads) {
			t.Error("the head is folded for play")
		}
	}
	a := DefaultArch().WithAuxiliary()
	slices.Reverse(a.Heads[2:])
	if a.Validate() == nil {
		t.Error("auxiliary before moves left is taken")
	}
}
