package builtin

import "testing"

func TestNet(t *testing.T) {
	net, meta, err := Net()
	if err != nil {
		t.Fatal(err)
	}
	if !net.Arch.Sparse() || meta["search"] == "" || meta["step"] == "" || meta["rows"] == "" {
		t.Errorf("net %s with %v, want a trained sparse net that knows its search", net.Arch, meta)
	}
	net.Params[0].Data[0]++
	if another, _, err := Net(); err != nil || another.ID() == net.ID() {
		t.Errorf("a changed copy changed the net: %v", err)
	}
}
