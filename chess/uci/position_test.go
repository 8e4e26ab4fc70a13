package uci

import (
	"strings"
	"testing"
)

func TestParsePosition(t *testing.T) {
	for text, say := range map[string]string{
		"":                              "want startpos or fen FEN",
		"start":                         "want startpos or fen FEN",
		"startpos e2e4":                 "want startpos or fen FEN",
		"fen":                           "want startpos or fen FEN",
		"fen 8/8/8/8/8/8/8/8 w - - 0 1": "king",
		"startpos moves e2e4 e2e4":      "move 2: ",
		"moves e2e4":                    "want startpos or fen FEN",
		"4k3/8/8/8/8/8/8/4K3 w - - 0 1": "want startpos or fen FEN",
	} {
		if _, err := ParsePosition(strings.Fields(text)); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %v, want %q", text, err, say)
		}
	}
	h, err := ParsePosition(strings.Fields("  fen 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1  moves e2e4  e8d8 "))
	if err != nil || h.Board().FEN() != "3k4/8/8/8/4P3/8/8/4K3 w - - 1 2" {
		t.Errorf("%v, %v", h, err)
	}
}
