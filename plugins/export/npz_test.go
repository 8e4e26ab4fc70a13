package export

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// npyFile is an array as its file says it is.
type npyFile struct {
	header string
	data   []byte
}

// readNPZ unpacks a file by the formats' descriptions.
func readNPZ(t *testing.T, file []byte) map[string]npyFile {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]npyFile{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil || !bytes.HasPrefix(data, []byte("\x93NUMPY\x01\x00")) {
			t.Fatalf("%s: %v", f.Name, err)
		}
		n := 10 + int(binary.LittleEndian.Uint16(data[8:]))
		all[f.Name] = npyFile{strings.TrimRight(string(data[10:n]), " \n"), data[n:]}
	}
	return all
}

func (f npyFile) float32(i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(f.data[4*i:]))
}

func (f npyFile) int16(i int) int16 { return int16(binary.LittleEndian.Uint16(f.data[2*i:])) }

// same says whether two numbers are equal or both unknown.
func same(a, b float32) bool { return a == b || a != a && b != b }

// TestNPZ: names, types and shapes to the letter, and every row against a replay
// of its position alone.
func TestNPZ(t *testing.T) {
	seed := rand.Uint64()
	games := anyGames(t, 9, rand.New(rand.NewPCG(seed, 1)))
	type row struct {
		g   *record.Game
		ply int
	}
	var rows []row
	for _, g := range games {
		for i := range g.Plies {
			if i%4 != 1 { // those that were searched (anyGame)
				rows = append(rows, row{g, i})
			}
		}
	}
	for _, c := range []struct {
		settings map[string]string
		want     []row
	}{
		{map[string]string{"rows": "0"}, rows},
		{nil, rows},
		{map[string]string{"rows": "30"}, rows[len(rows)-30:]},
		{map[string]string{"rows": "1"}, rows[len(rows)-1:]},
		{map[string]string{"games": "1"}, rows[len(rows)-games[8].NumRows():]},
	} {
		files := readNPZ(t, exportTo(t, "npz", gamesCheckpoint(games...), c.settings))
		n := strconv.Itoa(len(c.want))
		for name, want := range map[string]string{
			"binaryInputNCHWPacked.npy": "{'descr': '|u1', 'fortran_order': False, 'shape': (" + n + ", 112, 8,), }",
			"globalInputNC.npy":         "{'descr': '<f4', 'fortran_order': False, 'shape': (" + n + ", 6,), }",
			"policyTargetsNCMove.npy":   "{'descr': '<i2', 'fortran_order': False, 'shape': (" + n + ", 2, 1858,), }",
			"globalTargetsNC.npy":       "{'descr': '<f4', 'fortran_order': False, 'shape': (" + n + ", 22,), }",
			"gameIDN.npy":               "{'descr': '|u1', 'fortran_order': False, 'shape': (" + n + ", 16,), }",
		} {
			if files[name].header != want {
				t.Fatalf("seed %d: %s: %s, want %s", seed, name, files[name].header, want)
			}
		}
		if len(files) != 6 || len(files["policyTargetsNCMove.npy"].data) != len(c.want)*2*1858*2 {
			t.Fatalf("seed %d: %d arrays", seed, len(files))
		}
		for i, r := range c.want {
			checkNPZRow(t, seed, files, i, r.g, r.ply)
		}
	}
}

// checkNPZRow holds row i of a file against a position.
func checkNPZRow(t *testing.T, seed uint64, files map[string]npyFile, i int, g *record.Game, ply int) {
	t.Helper()
	b := encoding.NewTrainBatch(1)
	var r record.Replayer
	if err := r.AppendRow(b, g, ply); err != nil {
		t.Fatal(err)
	}
	var planes [112 * 64]float32
	encoding.ExpandPlanes(planes[:], &b.Masks[0], &b.Scalars[0])
	packed, global := files["binaryInputNCHWPacked.npy"], files["globalInputNC.npy"]
	for k, want := range planes {
		got := float32(packed.data[i*112*8+k/8] >> (7 - k%8) & 1)
		if k/64 == 109 {
			if got != 0 {
				t.Fatalf("seed %d, row %d: plane 109 has bits", seed, i)
			}
			got = global.float32(6*i + 5)
		}
		if got != want {
			t.Fatalf("seed %d, row %d: plane %d square %d is %v, want %v", seed, i, k/64, k%64, got, want)
		}
		if k/64 >= 104 && k/64 < 110 && global.float32(6*i+k/64-104) != want {
			t.Fatalf("seed %d, row %d: global %d is %v, want %v", seed, i, k/64-104, global.float32(6*i+k/64-104), want)
		}
	}
	checkNPZPolicy(t, seed, files["policyTargetsNCMove.npy"], 2*i, b)
	reply := encoding.NewTrainBatch(1)
	if ply+1 < len(g.Plies) {
		if err := r.AppendRow(reply, g, ply+1); err != nil {
			t.Fatal(err)
		}
	}
	checkNPZPolicy(t, seed, files["policyTargetsNCMove.npy"], 2*i+1, reply)

	p, targets := &g.Plies[ply], files["globalTargetsNC.npy"]
	nan := float32(math.NaN())
	want := [22]float32{0, 0, 0, float32(len(g.Plies) - ply), p.Root.Q, p.Root.D, p.Root.M, p.Best.Q, p.Best.D, p.Best.M,
		p.Played.Q, p.Played.D, p.Played.M, nan, nan, nan, p.Weight, 0, 101, p.KLD, float32(ply), float32(len(g.Plies))}
	switch result := int(g.WhiteResult); {
	case g.End == record.EndAborted:
		want[0], want[1], want[2], want[3] = nan, nan, nan, nan
	case result == 0:
		want[1] = 1
	case (result == 1) == (g.SideAt(ply) == chess.White):
		want[0] = 1
	default:
		want[2] = 1
	}
	if ply+1 < len(g.Plies) && (ply+1)%4 != 1 {
		want[17] = 1
	}
	for k, w := range want {
		if v := targets.float32(22*i + k); !same(v, w) {
			t.Fatalf("seed %d, row %d: target %d is %v, want %v", seed, i, k, v, w)
		}
	}
	if id := files["gameIDN.npy"].data[16*i:][:16]; !bytes.Equal(id, g.ID[:]) {
		t.Fatalf("seed %d, row %d: game %x, want %x", seed, i, id, g.ID)
	}
}

// checkNPZPolicy holds the n-th policy of an array against that of a batch of at
// most one position: divided by its sum it is the target, to half a unit of
// 1/32767 for every move.
func checkNPZPolicy(t *testing.T, seed uint64, f npyFile, n int, b *encoding.TrainBatch) {
	t.Helper()
	legal := map[int]float64{}
	if b.N > 0 {
		for k, m := range b.LegalOf(0) {
			legal[int(m)] = float64(b.PolicyOf(0)[k])
		}
	}
	sum := 0.0
	for m := range 1858 {
		v := f.int16(1858*n + m)
		if _, ok := legal[m]; ok != (v >= 0) || v < -1 {
			t.Fatalf("seed %d, policy %d: move %d is %d, legal %v", seed, n, m, v, ok)
		}
		sum += math.Max(0, float64(v))
	}
	for m, want := range legal {
		got := float64(f.int16(1858*n + m))
		if sum > 0 {
			got /= sum
		}
		if math.Abs(got-want) > float64(1+len(legal))/32767 {
			t.Fatalf("seed %d, policy %d: move %d is %v, want %v", seed, n, m, got, want)
		}
	}
}

// TestNPZPolicy: visits stay as they are, or keep their proportions where one
// does not fit; a forced move without visits counts.
func TestNPZPolicy(t *testing.T) {
	for _, c := range []struct {
		ply  record.Ply
		want []int16
	}{
		{record.Ply{Kind: record.PolicyCounts, Counts: []uint32{0, 7, 32767}}, []int16{0, 7, 32767}},
		{record.Ply{Kind: record.PolicyCounts, Counts: []uint32{65534, 32767, 0, 1}}, []int16{32767, 16384, 0, 1}},
		{record.Ply{Kind: record.PolicyCounts, Counts: []uint32{0}}, []int16{1}},
		{record.Ply{Kind: record.PolicyCounts, Counts: []uint32{4294967295, 4294967295}}, []int16{32767, 32767}},
		{record.Ply{Kind: record.PolicyProbs, Probs: []float32{0.25, 0.75, 0}}, []int16{8192, 24575, 0}},
		{record.Ply{Kind: record.PolicyProbs, Probs: []float32{1}}, []int16{32767}},
		{record.Ply{}, []int16{0, 0}},
	} {
		for k, want := range c.want {
			if got := policyShare(&c.ply, k); got != want {
				t.Errorf("%+v: move %d is %d, want %d", c.ply, k, got, want)
			}
		}
	}
}

// TestNPZStart: the first row of a game from the start position, to the letter.
func TestNPZStart(t *testing.T) {
	g := anyGame(t, "", 3, 5, rand.New(rand.NewPCG(7, 7)))
	g.End, g.WhiteResult = record.EndResign, -1
	files := readNPZ(t, exportTo(t, "npz", gamesCheckpoint(g), nil))
	packed := files["binaryInputNCHWPacked.npy"].data
	for plane, want := range map[int]string{
		0: "\x00\xff\x00\x00\x00\x00\x00\x00", 1: "\x42\x00\x00\x00\x00\x00\x00\x00", 4: "\x10\x00\x00\x00\x00\x00\x00\x00",
		5: "\x08\x00\x00\x00\x00\x00\x00\x00", 6: "\x00\x00\x00\x00\x00\x00\xff\x00", 10: "\x00\x00\x00\x00\x00\x00\x00\x10",
		12: "\x00\x00\x00\x00\x00\x00\x00\x00", 104: "\xff\xff\xff\xff\xff\xff\xff\xff", 108: "\x00\x00\x00\x00\x00\x00\x00\x00",
		111: "\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		if got := string(packed[8*plane:][:8]); got != want {
			t.Errorf("plane %d is % x, want % x", plane, got, want)
		}
	}
	legal := 0
	for m := range 1858 {
		if files["policyTargetsNCMove.npy"].int16(m) >= 0 {
			legal++
		}
	}
	if e2e4 := files["policyTargetsNCMove.npy"].int16(322); legal != 20 || e2e4 < 0 {
		t.Errorf("%d legal moves, e2e4 %d", legal, e2e4)
	}
	targets := files["globalTargetsNC.npy"]
	for k, want := range map[int]float32{0: 0, 1: 0, 2: 1, 3: 5, 20: 0, 21: 5} {
		if v := targets.float32(k); v != want {
			t.Errorf("target %s is %v, want %v", npzTargets[k], v, want)
		}
	}
	var meta map[string]string
	if err := json.Unmarshal(files["metadata.npy"].data, &meta); err != nil || meta["name"] != "job-main-s100-d200" || meta["net_id"] != "ab12" ||
		meta["job"] != "run-1" || meta["samples"] != "100" {
		t.Errorf("metadata %v, %v", meta, err)
	}
}

// npzExample is the program of plugins/npz/README.md: what a reader in Python
// does with a file.
const npzExample = `
import sys, json, numpy as np
rows = np.load(sys.argv[1])
bits = np.unpackbits(rows["binaryInputNCHWPacked"], axis=2)         # [N,112,64], a1 b1 ... h8
planes = bits.reshape(-1, 112, 8, 8).astype(np.float32)             # [N,112,8,8], rank 1 first
planes[:, 109] = rows["globalInputNC"][:, 5, None, None]            # rule50 / 99
policy = rows["policyTargetsNCMove"][:, 0].astype(np.float32)       # [N,1858]
legal = policy >= 0
policy = np.maximum(policy, 0)
policy /= policy.sum(axis=1, keepdims=True)
wdl, moves_left = rows["globalTargetsNC"][:, :3], rows["globalTargetsNC"][:, 3]
weight = rows["globalTargetsNC"][:, 16]
games = rows["gameIDN"]
meta = json.loads(rows["metadata"].item())
`

// TestNPZNumpy: numpy reads the file as the README says.
func TestNPZNumpy(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "npz", "README.md"))
	if err != nil || !strings.Contains(string(readme), strings.TrimSpace(npzExample)) {
		t.Errorf("the README has another program: %v", err)
	}
	if out, err := exec.Command("python3", "-c", "import numpy").CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED against numpy, which python3 does not have here: %v\n%s", err, out)
	}
	seed := rand.Uint64()
	games := anyGames(t, 3, rand.New(rand.NewPCG(seed, 1)))
	dir := t.TempDir()
	var planes []float32
	b := encoding.NewTrainBatch(0)
	var r record.Replayer
	for _, g := range games {
		for i := range g.Plies {
			if i%4 == 1 {
				continue
			}
			if err := r.AppendRow(b, g, i); err != nil {
				t.Fatal(err)
			}
			var one [112 * 64]float32
			encoding.ExpandPlanes(one[:], &b.Masks[b.N-1], &b.Scalars[b.N-1])
			planes = append(planes, one[:]...)
		}
	}
	raw := new(bytes.Buffer)
	if err := errors.Join(binary.Write(raw, binary.LittleEndian, planes), os.WriteFile(filepath.Join(dir, "planes"), raw.Bytes(), 0o666),
		os.WriteFile(filepath.Join(dir, "a.npz"), exportTo(t, "npz", gamesCheckpoint(games...), nil), 0o666)); err != nil {
		t.Fatal(err)
	}
	const checks = `
assert (planes == np.fromfile(sys.argv[2], "<f4").reshape(-1, 112, 8, 8)).all()
assert len(planes) == len(policy) == len(wdl) == len(moves_left) == len(weight) == len(games)
assert np.allclose(policy.sum(axis=1), 1) and (policy[~legal] == 0).all()
known = ~np.isnan(wdl[:, 0])
assert np.allclose(wdl[known].sum(axis=1), 1)
assert (weight > 0).all() and len(np.unique(games, axis=0)) == 3
assert meta["net_id"] == "ab12", meta
`
	out, err := exec.Command("python3", "-c", npzExample+checks, filepath.Join(dir, "a.npz"), filepath.Join(dir, "planes")).CombinedOutput()
	if err != nil {
		t.Errorf("seed %d: %v\n%s", seed, err, out)
	}
}
