package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// Seeds of games that the rescorer of the tests treats in a special way.
const (
	seedDie     = 1000 + iota // exits, always
	seedDieOnce               // exits the first time
	seedPanic                 // panics
	seedHang                  // gives no answer
	seedNaN                   // gives weights that are NaN
	seedRefuse                // is refused
	seedGate                  // waits for the file "gate"
	seedEat                   // takes memory as fast as it can, up to 4 GiB
)

// testDefinition is the stage of a plugin of the tests: a sampler "picker", an
// exporter "writer", and rescorers of all other names.
func testDefinition(dir, name string) *stage.Definition {
	d := &stage.Definition{Name: name, Version: "1.2.3", Doc: "a stage of the tests", Capabilities: []stage.Capability{stage.Deterministic}}
	number := func(name string) stage.Setting {
		return stage.Setting{Name: name, Doc: "see the tests", Default: "0", Max: 1e6, Whole: true}
	}
	switch name {
	case "picker":
		d.Kind, d.Settings = stage.KindSampler, []stage.Setting{number("pad"), number("die"), number("stall"), number("always")}
		d.NewSampler = func(v stage.Values) (stage.Sampler, error) {
			return &picker{name: name, dir: dir, pad: int(v.Number("pad")), die: uint64(v.Number("die")),
				stall: uint64(v.Number("stall")), always: v.Number("always") != 0}, nil
		}
	case "writer":
		d.Kind, d.Settings = stage.KindExporter, []stage.Setting{number("die"), number("refuse")}
		d.NewExporter = func(v stage.Values) (stage.Exporter, error) {
			return &writer{name: name, dir: dir, die: int(v.Number("die")), refuse: v.Number("refuse") != 0}, nil
		}
	default:
		d.Kind, d.Settings = stage.KindRescorer, []stage.Setting{number("odd")}
		d.NewRescorer = func(v stage.Values) (stage.Rescorer, error) {
			if v.Number("odd") != 0 && math.Mod(v.Number("odd"), 2) == 0 {
				return nil, fmt.Errorf("setting odd: %g is even", v.Number("odd"))
			}
			return halver{name, dir}, nil
		}
	}
	return d
}

// halver halves all weights.
type halver struct{ name, dir string }

func (h halver) Name() string { return h.name }

func (h halver) Err() error { return errors.New("a tooth is missing") }

func (h halver) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	factor := float32(0.5)
	switch g.Seed {
	case seedDie:
		syscall.Write(syscall.Stderr, []byte("panic: as told\n")) // os.Stderr is redirected; a real panic does this
		os.Exit(7)
	case seedDieOnce:
		if once(h.dir, fmt.Sprint("game", g.Ordinal)) {
			os.Exit(7)
		}
	case seedPanic:
		panic("a bug")
	case seedHang:
		<-ctx.Done()
	case seedNaN:
		factor = float32(math.NaN())
	case seedRefuse:
		return nil, errors.New("not this one")
	case seedGate:
		await(filepath.Join(h.dir, "gate"))
	case seedEat:
		var eaten [][]byte
		for range 256 {
			eaten = append(eaten, bytes.Repeat([]byte{1}, 16<<20))
		}
		os.Exit(len(eaten) % 256)
	}
	switch h.name {
	case "same":
		return g, nil
	case "talker": // os.Stdout is redirected; what C code prints goes here
		syscall.Write(syscall.Stdout, bytes.Repeat([]byte("x"), 1<<20))
	}
	if h.name == "badlog" {
		slog.Info("halved", "ordinal", g.Ordinal)
	}
	return halved(g, factor), nil
}

// halved is what halver makes of a game.
func halved(g *record.Game, factor float32) *record.Game {
	out := g.Clone()
	for i := range out.Plies {
		out.Plies[i].Weight *= factor
	}
	return out
}

// await waits for a file.
func await(path string) {
	for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
}

// picker is a uniform sampler that counts its draws; pad bytes of its state mean
// nothing. It dies before the answer to draw die, or stalls in draw stall: the
// first time only, or always.
type picker struct {
	name, dir  string
	pad        int
	die, stall uint64
	always     bool
}

func (p *picker) Name() string { return p.name }

func (p *picker) Sample(_ context.Context, d stage.Draw, dst []stage.RowRef) ([]stage.RowRef, []byte, error) {
	pcg, draws := rand.NewPCG(d.Seed, d.Stream), uint64(0)
	if n := len(d.State) - p.pad - 8; len(d.State) > 0 {
		if n < 0 {
			return dst, nil, fmt.Errorf("a state of %d bytes", len(d.State))
		}
		if err := pcg.UnmarshalBinary(d.State[:n]); err != nil {
			return dst, nil, err
		}
		draws = binary.LittleEndian.Uint64(d.State[n:])
	}
	if d.Rows > 0 {
		draws++
		if d.Index.WeightSum() == 0 {
			return dst, nil, errors.New("nothing to pick from")
		}
	}
	rng := rand.New(pcg)
	for range d.Rows {
		game, ply := d.Index.RowAt(rng.Uint64N(d.Index.WeightSum()))
		dst = append(dst, stage.RowRef{Game: game, Ply: ply, Weight: float32(draws)})
	}
	if draws == p.die && (p.always || once(p.dir, "die")) {
		os.Exit(8)
	}
	if draws == p.stall && once(p.dir, "stall") {
		await(filepath.Join(p.dir, "gate"))
	}
	state, err := pcg.MarshalBinary()
	return dst, append(binary.LittleEndian.AppendUint64(state, draws), make([]byte, p.pad)...), err
}

// writer writes one text. It dies die times, over all processes, in the middle of
// that.
type writer struct {
	name, dir string
	die       int
	refuse    bool
}

func (w *writer) Name() string { return w.name }

func (w *writer) Export(_ context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
	if w.refuse {
		return nil, errors.New("not this net")
	}
	path := filepath.Join(dst, c.Net.Name+".txt")
	if err := os.WriteFile(path, []byte("net "+c.Net.Name), 0o600); err != nil {
		return nil, err
	}
	for i := range w.die {
		if once(w.dir, fmt.Sprint("export", i)) {
			os.Exit(9)
		}
	}
	return []string{path}, nil
}

// listenOnly shakes hands and never accepts a connection.
func listenOnly(path string) {
	l, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	defer l.Close()
	fmt.Printf("1|%d|unix|%s|grpc\n", api.ProtocolVersion, path)
	forever()
}
