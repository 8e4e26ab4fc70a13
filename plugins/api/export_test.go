package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// testExporter is an exporter that is a function.
type testExporter func(ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error)

func (testExporter) Name() string { return "test-exporter" }

func (f testExporter) Export(ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
	return f(ctx, c, dst)
}

func exporting(f testExporter, capabilities ...stage.Capability) *stage.Definition {
	return &stage.Definition{Kind: stage.KindExporter, Name: "test-exporter", Version: "1.0.0", Doc: "a test", Capabilities: capabilities,
		NewExporter: func(stage.Values) (stage.Exporter, error) { return f, nil }}
}

// writeAll writes what the checkpoint holds: a file each of words, floats, games
// (twice, to see that they can be had twice), and an empty one.
func writeAll(ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
	words := fmt.Sprintf("%+v %s %v", c.Net, c.Arch, c.Metadata)
	var floats, games []byte
	for _, t := range c.Tensors {
		words += fmt.Sprintf(" %s%v", t.Name, t.Shape)
		floats, _ = binary.Append(floats, binary.LittleEndian, t.Data)
	}
	if c.Games == nil {
		words += " no games"
	} else {
		for range 2 {
			for g, err := range c.Games {
				if err != nil {
					return nil, err
				}
				if games, err = record.Append(games, g); err != nil {
					return nil, err
				}
			}
		}
	}
	var paths []string
	for name, data := range map[string][]byte{".words": []byte(words), ".floats": floats, ".games": games, ".empty": nil} {
		path := filepath.Join(dst, c.Net.Name+name)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths, ctx.Err()
}

// checkpointOf returns a checkpoint whose floats take more than one piece.
func checkpointOf(games []*record.Game) *stage.Checkpoint {
	c := &stage.Checkpoint{
		Net: stage.NetInfo{Name: "job-main-s5-d7", ID: "abc", Step: 3, Samples: 5, Rows: 7}, Arch: []byte(`{"filters":4}`),
		Metadata: map[string]string{"a": "b"},
		Tensors: []stage.Tensor{{Name: "one", Shape: []int{2, 3}, Data: []float32{1, 2, 3, 4, 5, -6}}, {Name: "none", Shape: []int{0, 4}},
			{Name: "scalar", Data: []float32{9}}, {Name: "large", Shape: []int{600_001}, Data: make([]float32, 600_001)}},
	}
	for i := range c.Tensors[3].Data {
		c.Tensors[3].Data[i] = float32(i)
	}
	if games != nil {
		c.Games = yieldGames(games, nil)
	}
	return c
}

func yieldGames(games []*record.Game, last error) iter.Seq2[*record.Game, error] {
	return func(yield func(*record.Game, error) bool) {
		for _, g := range games {
			if !yield(g, nil) {
				return
			}
		}
		if last != nil {
			yield(nil, last)
		}
	}
}

// An exporter behind gRPC writes the files that it writes without, with the games
// where it needs them.
func TestExport(t *testing.T) {
	rng, ctx := freshRand(t), context.Background()
	games := randomGames(t, rng, 150, 100)
	for name, c := range map[string]*stage.Checkpoint{"games": checkpointOf(games), "no games": checkpointOf(nil), "none yet": checkpointOf([]*record.Game{})} {
		for _, needs := range []bool{true, false} {
			bareDir, dir := t.TempDir(), filepath.Join(t.TempDir(), "to", "export")
			seen := *c
			if !needs {
				seen.Games = nil
			}
			want, err := writeAll(ctx, &seen, bareDir)
			if err != nil {
				t.Fatal(err)
			}
			var capabilities []stage.Capability
			if needs {
				capabilities = []stage.Capability{stage.NeedsGames, stage.NeedsLegalMoves}
			}
			conn, d := open(t, exporting(writeAll, capabilities...), nil)
			got, err := conn.Export(ctx, d, fsx.OS, c, dir)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(got) != len(want) || len(list(t, dir)) != len(want) {
				t.Fatalf("%s: files %v, want %v; in the directory: %v", name, got, want, list(t, dir))
			}
			for i := range want {
				if got[i] != filepath.Join(dir, filepath.Base(want[i])) || !bytes.Equal(filetest.Read(t, got[i]), filetest.Read(t, want[i])) {
					t.Errorf("%s: %s differs from %s", name, got[i], want[i])
				}
			}
		}
	}
}

func list(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Failures of the stage and of the games are reported and leave nothing, in the
// destination and in the plugin's own directory.
func TestExportErrors(t *testing.T) {
	games := randomGames(t, freshRand(t), 5, 20)
	lost := errors.New("a lost disk")
	broken := checkpointOf(nil)
	broken.Games = yieldGames(games, lost)
	bad := checkpointOf(nil)
	bad.Games = yieldGames([]*record.Game{{NetID: string(make([]byte, 300))}}, nil)
	outside := t.TempDir()
	for _, c := range []struct {
		name       string
		checkpoint *stage.Checkpoint
		export     testExporter
		want       string
		code       codes.Code
	}{
		{"stage", checkpointOf(nil), func(ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
			_, err := writeAll(ctx, c, dst)
			return nil, errors.Join(err, errors.New("this net has no policy"))
		}, "this net has no policy", codes.Unknown},
		{"panic", checkpointOf(nil), func(context.Context, *stage.Checkpoint, string) ([]string, error) { panic("no") }, "panic: no", codes.Internal},
		{"no file", checkpointOf(nil), func(context.Context, *stage.Checkpoint, string) ([]string, error) { return nil, nil }, "wrote no file", codes.Unknown},
		{"missing file", checkpointOf(nil), func(_ context.Context, _ *stage.Checkpoint, dst string) ([]string, error) {
			return []string{filepath.Join(dst, "not-there")}, nil
		}, "not-there", codes.Internal},
		{"outside", checkpointOf(nil), func(ctx context.Context, c *stage.Checkpoint, _ string) ([]string, error) {
			return writeAll(ctx, c, outside)
		}, "not in the directory", codes.Internal},
		{"games", broken, writeAll, "a lost disk", codes.Unknown},
		{"invalid game", bad, writeAll, "net id", codes.InvalidArgument},
	} {
		t.Run(c.name, func(t *testing.T) {
			temp, dst := t.TempDir(), t.TempDir()
			t.Setenv("TMPDIR", temp)
			d := exporting(c.export, stage.NeedsGames)
			conn, stop := dialStop(t, func(s *grpc.Server) { Register(s, d) })
			if err := conn.Open(context.Background(), d, nil); err != nil {
				t.Fatal(err)
			}
			files, err := conn.Export(context.Background(), d, fsx.OS, c.checkpoint, dst)
			stop()
			if wantError(t, err, c.want); status.Code(err) != c.code || files != nil {
				t.Errorf("files %v, code %v, want %v", files, status.Code(err), c.code)
			}
			if c.checkpoint == broken && !errors.Is(err, lost) {
				t.Errorf("%v does not wrap its cause", err)
			}
			if left := list(t, dst); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if left := list(t, temp); len(left) > 0 {
				t.Errorf("the plugin left behind: %v", left)
			}
		})
	}
}

// Cancelling an export ends it on both sides.
func TestExportCancel(t *testing.T) {
	entered, left := make(chan struct{}), make(chan struct{})
	conn, d := open(t, exporting(func(ctx context.Context, _ *stage.Checkpoint, _ string) ([]string, error) {
		close(entered)
		<-ctx.Done()
		close(left)
		return nil, ctx.Err()
	}), nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	result, dst := make(chan error, 1), t.TempDir()
	go func() {
		_, err := conn.Export(ctx, d, fsx.OS, checkpointOf(nil), dst)
		result <- err
	}()
	<-entered
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-left
	if files := list(t, dst); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
}

// rawExporter sends parts of files without looking at the checkpoint.
type rawExporter struct {
	pluginpb.UnimplementedExporterServer
	parts []*pluginpb.ExportReply
	err   error
}

func (r *rawExporter) Export(stream exportServerStream) error {
	for _, p := range r.parts {
		if err := stream.Send(p); err != nil {
			return err
		}
	}
	return r.err
}

func part(name, data string, last bool) *pluginpb.ExportReply {
	p := &pluginpb.ExportReply{Name: name, Data: []byte(data)}
	if last {
		sum := sha256.Sum256([]byte(data))
		p.Sha256 = sum[:]
	}
	return p
}

// Files that do not end well, or would go somewhere else, leave nothing.
func TestExportWrongAnswers(t *testing.T) {
	flipped := part("b", "data", true)
	flipped.Sha256[31] ^= 1
	short := part("b", "data", true)
	short.Sha256 = short.Sha256[:31]
	good := part("a", "data", true)
	cases := map[string][]*pluginpb.ExportReply{
		"wrong hash": {good, flipped}, "short hash": {good, short}, "no end": {good, part("b", "data", false)},
		"another file before the end": {good, part("b", "data", false), part("c", "", true)},
		"the same file twice":         {good, part("b", "data", true), good},
		"no file":                     {},
	}
	for _, name := range []string{"", ".", "..", ".hidden", "../a", "a/b", "/etc/a", `a\b`, "c:a", "a\x00b", "a\nb", "x\x1b[2J", strings.Repeat("a", 201), "a/"} {
		cases[fmt.Sprintf("name %.20q", name)] = []*pluginpb.ExportReply{good, part(name, "data", true)}
	}
	for name, parts := range cases {
		t.Run(name, func(t *testing.T) {
			dst := t.TempDir()
			conn := dial(t, func(s *grpc.Server) { pluginpb.RegisterExporterServer(s, &rawExporter{parts: parts}) })
			files, err := conn.Export(context.Background(), exporting(nil), fsx.OS, checkpointOf(nil), dst)
			if !errors.Is(err, ErrAnswer) || files != nil {
				t.Errorf("files %v, error %v", files, err)
			}
			if left := list(t, filepath.Dir(dst)); len(left) != 1 || len(list(t, dst)) > 0 {
				t.Errorf("left behind: %v, %v", left, list(t, dst))
			}
		})
	}
	conn := dial(t, func(s *grpc.Server) {
		pluginpb.RegisterExporterServer(s, &rawExporter{parts: []*pluginpb.ExportReply{good}, err: status.Error(codes.Internal, "out of ink")})
	})
	dst := t.TempDir()
	_, err := conn.Export(context.Background(), exporting(nil), fsx.OS, checkpointOf(nil), dst)
	if wantError(t, err, "export: out of ink"); len(list(t, dst)) > 0 {
		t.Errorf("left behind: %v", list(t, dst))
	}
}

// The number of files is bounded.
func TestExportTooManyFiles(t *testing.T) {
	in := &incoming{fsys: memfs.New(), dst: "/out"}
	defer in.discard()
	for i := range maxFiles {
		if err := in.piece(part(fmt.Sprint(i), "", true)); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.piece(part("last", "", true)); !errors.Is(err, ErrAnswer) {
		t.Errorf("got %v", err)
	}
}

// Whatever operation of the file system fails, an export leaves nothing, and what
// was reported as written survives a power cut.
func TestExportDurable(t *testing.T) {
	parts := []*pluginpb.ExportReply{part("a", "first", true), part("b", "second", true)}
	conn := dial(t, func(s *grpc.Server) { pluginpb.RegisterExporterServer(s, &rawExporter{parts: parts}) })
	broken := errors.New("broken")
	for k := 1; ; k++ {
		fsys := memfs.New()
		if err := fsys.Mkdir("/out", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := fsys.SyncDir("/"); err != nil {
			t.Fatal(err)
		}
		fsys.FailAt(k, broken, false)
		_, err := conn.Export(context.Background(), exporting(nil), fsys, checkpointOf(nil), "/out")
		tripped := fsys.Tripped()
		fsys.Heal()
		if (err != nil) != tripped || err != nil && !errors.Is(err, broken) {
			t.Fatalf("operation %d: %v", k, err)
		}
		if tripped {
			if left, err := fsys.ReadDir("/out"); err != nil || len(left) > 0 {
				t.Errorf("operation %d: left behind: %v, %v", k, left, err)
			}
			continue
		}
		fsys.Restart(memfs.DropAll)
		for name, want := range map[string]string{"/out/a": "first", "/out/b": "second"} {
			if got, err := fsx.ReadFile(fsys, name); err != nil || string(got) != want {
				t.Errorf("after a power cut: %s holds %q: %v", name, got, err)
			}
		}
		if k < 10 {
			t.Errorf("only %d operations", k)
		}
		return
	}
}

// A checkpoint whose parts do not fit is refused by the plugin.
func TestExportWrongRequests(t *testing.T) {
	header := func(shape ...uint64) *pluginpb.ExportRequest {
		h := &pluginpb.ExportHeader{Name: "n", Tensors: []*pluginpb.TensorInfo{{Name: "t", Shape: shape}}}
		return &pluginpb.ExportRequest{Part: &pluginpb.ExportRequest_Header{Header: h}}
	}
	piece := func(i uint32, bytes int) *pluginpb.ExportRequest {
		return &pluginpb.ExportRequest{Part: &pluginpb.ExportRequest_Tensor{Tensor: &pluginpb.TensorPiece{Tensor: i, Data: make([]byte, bytes)}}}
	}
	games := &pluginpb.ExportRequest{Part: &pluginpb.ExportRequest_Games{Games: &pluginpb.GameBatch{}}}
	for name, requests := range map[string][]*pluginpb.ExportRequest{
		"no header": {}, "piece first": {piece(0, 4)}, "empty part": {header(1), {}}, "two headers": {header(1), header(1)},
		"half a float": {header(1), piece(0, 2)}, "too much": {header(1), piece(0, 8)}, "too little": {header(2), piece(0, 4)},
		"no such tensor": {header(1), piece(1, 4)}, "huge shape": {header(1<<31, 4)}, "product too large": {header(1<<20, 1<<20, 1<<20, 1<<20)},
		"games that were not announced": {header(1), piece(0, 4), games},
	} {
		c, _ := open(t, exporting(writeAll), nil)
		stream, err := pluginpb.NewExporterClient(c.cc).Export(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range requests {
			if stream.Send(r) != nil {
				break // refused already
			}
		}
		if err := stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}
