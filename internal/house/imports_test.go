// Package house holds the test that keeps the rooms of chessbrain apart: who
// may import whom (docs/ARCHITECTURE.md).
package house

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/chessbrain/chessbrain/"

// room says what the packages of a folder may import: our own folders, and the
// third-party modules that they alone (or among few) may use.
type room struct {
	ours  []string
	third []string
}

// rooms is the import table. A package belongs to the longest matching folder.
// The standard library is open to all, golang.org/x/sync too.
var rooms = map[string]room{
	"internal/fsx":          {ours: []string{"internal/spawn"}, third: []string{"golang.org/x/sys"}},
	"internal/house":        {},
	"internal/typo":         {},
	"internal/spawn":        {third: []string{"golang.org/x/sys"}},
	"internal/testing":      {ours: []string{"*"}, third: []string{"github.com/ebitengine/purego", "github.com/hashicorp/go-plugin", "github.com/nats-io/nats-server", "google.golang.org/grpc", "golang.org/x/sys"}}, // tests only: see kits
	"chess":                 {},
	"chess/pgn":             {ours: []string{"chess"}, third: []string{"github.com/notnil/chess"}},
	"encoding":              {ours: []string{"chess"}},
	"record":                {ours: []string{"chess", "encoding"}},
	"chess/syzygy":          {ours: []string{"chess"}},
	"configs":               {},
	"internal/config":       {ours: []string{"configs", "internal/fsx", "internal/typo"}, third: []string{"google.golang.org/protobuf"}},
	"nn":                    {ours: []string{"encoding"}},
	"nn/builtin":            {ours: []string{"nn"}},
	"nn/kernel":             {ours: []string{"encoding"}, third: []string{"golang.org/x/sys"}},
	"nn/kernel/gen":         {ours: []string{"nn/kernel/gen/args"}, third: []string{"github.com/mmcloughlin/avo"}},
	"nn/kernel/gen/args":    {},
	"nn/kernel/genarm64":    {ours: []string{"nn/kernel/gen/args"}},
	"nn/cpu":                {ours: []string{"encoding", "nn", "nn/kernel"}},
	"nn/device":             {ours: []string{"encoding", "nn"}},
	"nn/cuda":               {ours: []string{"encoding", "nn", "nn/device", "nn/cuda/driver", "nn/cuda/kernels"}},
	"nn/cuda/driver":        {third: []string{"gorgonia.org/cu"}},
	"nn/cuda/kernels":       {ours: []string{"nn/cuda/driver"}},
	"nn/cuda/kernels/gen":   {},
	"encoding/lc0":          {ours: []string{"chess", "encoding", "record", "nn"}, third: []string{"google.golang.org/protobuf"}},
	"mcts":                  {ours: []string{"chess", "encoding"}},
	"plugins/stage":         {ours: []string{"record"}},
	"replay":                {ours: []string{"chess", "encoding", "record", "plugins/stage", "encoding/lc0", "plugins/sample/chance", "internal/fsx"}, third: []string{"github.com/klauspost/compress", "github.com/fsnotify/fsnotify"}},
	"replay/importer":       {ours: []string{"chess", "chess/pgn", "encoding", "record", "encoding/lc0", "replay", "internal/fsx"}},
	"replay/prepare":        {ours: []string{"record", "replay", "internal/fsx"}},
	"run/pipeline":          {ours: []string{"internal/config", "internal/fsx", "internal/monitor", "nn", "replay", "replay/prepare", "run", "run/cycle", "run/play", "run/setup", "run/train", "trainer"}},
	"run/watch":             {ours: []string{"chess", "chess/uci", "encoding", "internal/config", "internal/fsx", "internal/monitor", "mcts", "record", "replay", "run", "run/cycle", "run/setup", "run/tools"}},
	"run/watch/screen":      {ours: []string{"chess", "internal/monitor", "plugins/stage", "record", "run", "run/cycle", "run/watch"}, third: []string{"golang.org/x/sys", "golang.org/x/term"}},
	"run/verify":            {ours: []string{"arena", "chess", "chess/pgn", "encoding", "internal/config", "internal/fsx", "internal/monitor", "encoding/lc0", "nn", "record", "replay", "replay/importer", "replay/prepare", "run", "run/catalogue", "run/gate", "run/play", "run/setup", "run/train", "trainer", "trainer/checkpoint"}},
	"plugins/rescore":       {ours: append([]string{"plugins/sample/chance"}, builtinStages...)},
	"plugins/rescore/files": {ours: []string{"plugins/rescore", "plugins/stage", "record", "replay", "encoding/lc0", "internal/fsx"}},
	"plugins/sample":        {ours: append([]string{"plugins/sample/chance"}, builtinStages...)},
	"plugins/sample/chance": {},
	"plugins/export":        {ours: append([]string{"chess/pgn", "internal/fsx"}, builtinStages...)},
	"trainer":               {ours: []string{"nn", "nn/cpu/train", "nn/device", "nn/kernel", "encoding", "plugins/stage", "trainer/checkpoint"}},
	"trainer/checkpoint":    {ours: []string{"plugins/stage", "internal/fsx"}},
	"nn/cpu/train":          {ours: []string{"encoding", "nn", "nn/device", "nn/kernel"}, third: []string{"gorgonia.org/gorgonia", "gorgonia.org/tensor", "github.com/chewxy/hm", "go4.org/unsafe/assume-no-moving-gc"}},
	"selfplay":              {ours: []string{"mcts", "chess", "encoding", "record"}},
	"internal/exam":         {ours: []string{"chess", "encoding", "mcts", "chess/syzygy", "chess/uci"}},
	"arena":                 {ours: []string{"mcts", "chess", "chess/pgn", "encoding", "record", "selfplay", "chess/uci", "internal/fsx"}},
	"internal/handover":     {ours: []string{"nn/cuda/driver"}},
	"arena/match":           {ours: []string{"arena", "chess", "chess/syzygy", "chess/uci", "mcts", "record", "internal/fsx"}},
	"arena/ladder":          {ours: []string{"arena", "arena/rating", "chess", "chess/uci", "internal/fsx"}},
	"arena/rating":          {third: []string{"gonum.org/v1/gonum"}},
	"chess/uci":             {ours: []string{"mcts", "chess", "encoding", "chess/syzygy", "internal/spawn"}},
	"internal/bench":        {ours: []string{"chess", "encoding", "mcts", "nn", "nn/device", "nn/kernel", "nn/cpu", "nn/cuda", "nn/cuda/driver", "trainer", "selfplay", "record", "replay", "encoding/lc0", "internal/fsx"}},
	"internal/monitor":      {ours: []string{"internal/fsx"}, third: []string{"github.com/prometheus/client_golang", "github.com/prometheus/client_model", "golang.org/x/term", "google.golang.org/protobuf"}},
	"plugins":               {ours: []string{"plugins/api", "plugins/stage"}, third: []string{"github.com/hashicorp/go-plugin", "github.com/hashicorp/go-hclog", "google.golang.org/grpc"}},
	"plugins/api":           {ours: []string{"chess", "encoding", "record", "plugins/stage", "internal/fsx"}, third: []string{"github.com/hashicorp/go-plugin", "google.golang.org/grpc", "google.golang.org/protobuf"}},
	"plugins/host":          {ours: []string{"plugins/api", "record", "plugins/stage", "internal/fsx", "internal/spawn", "internal/typo"}, third: []string{"github.com/hashicorp/go-plugin", "github.com/hashicorp/go-hclog", "google.golang.org/grpc"}},
	"plugins/plugintest":    {ours: []string{"chess", "encoding", "nn", "record", "plugins/stage", "plugins", "plugins/api", "plugins/host", "internal/fsx"}, third: []string{"google.golang.org/grpc"}},
	"run":                   {ours: []string{"internal/fsx", "internal/monitor"}},
	"run/setup":             {ours: []string{"arena", "chess", "chess/syzygy", "encoding", "internal/config", "internal/fsx", "internal/monitor", "encoding/lc0", "mcts", "nn", "nn/builtin", "nn/cpu", "nn/cuda", "nn/cuda/driver", "nn/device", "nn/kernel", "plugins/export", "plugins/host", "plugins/rescore", "plugins/sample", "plugins/stage", "record", "replay", "replay/importer", "replay/loader", "run", "run/catalogue", "selfplay", "trainer", "trainer/checkpoint"}, third: []string{"golang.org/x/sys"}},
	"run/play":              {ours: []string{"internal/fsx", "internal/monitor", "encoding/lc0", "mcts", "nn", "plugins/export", "plugins/rescore", "record", "replay", "run", "run/alarms", "run/setup", "selfplay", "trainer/checkpoint"}},
	"run/train":             {ours: []string{"encoding", "internal/fsx", "internal/monitor", "nn", "plugins/export", "plugins/host", "plugins/stage", "record", "replay", "replay/importer", "run", "run/alarms", "run/play", "run/setup", "selfplay", "trainer", "trainer/checkpoint"}},
	"internal/fleet":        {ours: []string{"internal/fsx"}, third: []string{"github.com/nats-io/nats-server", "github.com/nats-io/nats.go", "github.com/nats-io/nkeys"}},
	"run/join":              {ours: []string{"arena", "internal/config", "encoding", "internal/fleet", "internal/fsx", "internal/monitor", "nn", "record", "replay", "run", "run/play", "run/setup", "selfplay"}},
	"run/alarms":            {ours: []string{"internal/monitor", "record"}},
	"run/catalogue":         {ours: []string{"internal/fsx", "run"}},
	"run/cycle":             {ours: []string{"arena/ladder", "internal/config", "internal/fsx", "internal/monitor", "internal/typo", "record", "replay", "replay/prepare", "run", "run/alarms", "run/catalogue", "run/exporting", "run/gate", "run/join", "run/play", "run/ratings", "run/retain", "run/setup", "run/train", "trainer/checkpoint"}},
	"run/gate":              {ours: []string{"arena", "internal/fsx", "internal/monitor", "nn", "nn/kernel", "run", "run/setup", "trainer/checkpoint"}},
	"run/ratings":           {ours: []string{"arena", "arena/ladder", "arena/rating", "internal/fsx", "internal/monitor", "mcts", "nn", "record", "run", "run/alarms", "run/catalogue", "run/gate", "run/setup"}},
	"run/exporting":         {ours: []string{"internal/fsx", "internal/monitor", "nn", "plugins/export", "plugins/host", "plugins/stage", "replay", "run", "run/setup", "run/train"}},
	"run/retain":            {ours: []string{"internal/fsx", "replay", "replay/prepare", "run", "run/catalogue", "run/gate", "run/setup", "trainer", "trainer/checkpoint"}},
	"run/daemon":            {ours: []string{"internal/fsx", "internal/monitor", "replay", "run", "run/train"}},
	"run/tools":             {ours: []string{"chess", "encoding", "internal/bench", "internal/config", "internal/fsx", "internal/monitor", "encoding/lc0", "mcts", "nn", "nn/builtin", "plugins/export", "plugins/stage", "record", "replay", "run", "run/setup", "run/train", "trainer", "trainer/checkpoint"}},
	"cmd/chessbrain":        {ours: []string{"*"}, third: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/sys"}},
}

// shipped are the plugins of this repository, each a short main over its room.
var shipped = map[string][]string{
	"plugins/rescore": {"deblunder", "plies-left", "policy-temperature", "syzygy"},
	"plugins/sample":  {"diff-focus", "hanse", "position-selector", "prioritized", "uniform"},
	"plugins/export":  {"lc0", "npz", "onnx", "pgn", "safetensors"},
}

func init() {
	for over, names := range shipped {
		for _, name := range names {
			rooms["plugins/"+name] = room{ours: []string{over, "plugins", "plugins/plugintest", "plugins/stage"}}
		}
	}
}

var builtinStages = []string{"plugins/stage", "record", "chess", "encoding", "chess/syzygy", "nn", "encoding/lc0"}

// TestImportTable fails on an import arrow that the table does not allow.
func TestImportTable(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) < 10 {
		t.Fatalf("go list shows only %d packages", len(lines))
	}
	for _, line := range lines {
		fields := strings.Fields(line)
		pkg := strings.TrimPrefix(fields[0], module)
		folder := roomOf(pkg)
		if folder == "" {
			t.Errorf("package %s belongs to no room of the table", pkg)
			continue
		}
		for _, imp := range fields[1:] {
			if reason := refuse(folder, rooms[folder], imp); reason != "" {
				t.Errorf("%s (room %s) must not import %s: %s", pkg, folder, imp, reason)
			}
		}
	}
}

// TestRefuse shows that the table can fail: an arrow turned round, a foreign
// library and a neighbour's sub-room are refused.
func TestRefuse(t *testing.T) {
	for _, c := range []struct {
		folder, imp string
		allowed     bool
	}{
		{"chess", module + "mcts", false},
		{"mcts", module + "chess", true},
		{"mcts", module + "chess/pgn", false},
		{"mcts", "github.com/notnil/chess", false},
		{"chess/pgn", "github.com/notnil/chess", true},
		{"trainer", "gorgonia.org/gorgonia", false},
		{"nn/cpu/train", "gorgonia.org/gorgonia", true},
		{"replay", module + "trainer", false},
		{"run/train", module + "trainer", true},
		{"run", module + "trainer", false},
		{"run", "github.com/spf13/cobra", false},
		{"nn", "math", true},
		{"cmd/chessbrain", module + kits + "/golden", false},
	} {
		if got := refuse(c.folder, rooms[c.folder], c.imp) == ""; got != c.allowed {
			t.Errorf("%s -> %s: allowed = %v, want %v", c.folder, c.imp, got, c.allowed)
		}
	}
}

// kits is the folder of what only tests may import.
const kits = "internal/testing"

// roomOf returns the longest folder of the table that holds pkg.
func roomOf(pkg string) string {
	best := ""
	for folder := range rooms {
		if (pkg == folder || strings.HasPrefix(pkg, folder+"/")) && len(folder) > len(best) {
			best = folder
		}
	}
	return best
}

// refuse says why a package of a room must not import imp, or "".
func refuse(folder string, r room, imp string) string {
	if !strings.Contains(strings.Split(imp, "/")[0], ".") || strings.HasPrefix(imp, "golang.org/x/sync/") {
		return "" // standard library
	}
	if own, ok := strings.CutPrefix(imp, module); ok {
		target := roomOf(own)
		if target == kits && folder != kits {
			return "it is for tests"
		}
		if target == folder || slices.Contains(r.ours, target) || slices.Contains(r.ours, "*") {
			return ""
		}
		return "not in its row"
	}
	for _, prefix := range r.third {
		if strings.HasPrefix(imp, prefix) {
			return ""
		}
	}
	return "a library of another room"
}
