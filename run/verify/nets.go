package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/run/train"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

const damagedNet = "publish it again from its checkpoint, or put it back from a copy"

// net verifies a net file: its tensors, their hash, and that they are finite.
func (c *checker) net(path string, f *os.File) {
	hash := sha256.New()
	r := io.TeeReader(f, hash)
	c.readNet(path, r, "", damagedNet)
	if _, err := io.Copy(io.Discard, r); err == nil { // what a damaged net left unread
		c.sums[path] = hex.EncodeToString(hash.Sum(nil))
	}
}

// readNet verifies the net in r. id is what it should be; "" = as it says.
func (c *checker) readNet(path string, r io.Reader, id, remedy string) {
	c.report.Nets++
	net, _, err := nn.ReadSafetensors(r)
	if err != nil {
		at := int64(-1)
		if format, ok := errors.AsType[*nn.FormatError](err); ok {
			at = format.Offset
		}
		c.report.add(Problem{Path: path, Offset: at, Kind: Corrupt, Reason: err.Error(), Remedy: remedy})
		return
	}
	if err := net.CheckFinite(); err != nil {
		c.report.problem(path, Corrupt, remedy, "%v", err)
	}
	if got := net.ID(); id != "" && got != id {
		c.report.problem(path, Contradiction, remedy, "its tensors have id %s, the manifest says %s", got, id)
	}
}

func (c *checker) leelaNet(path string, f *os.File) {
	c.report.Nets++
	net, _, err := lc0.ReadNet(f)
	if errors.Is(err, lc0.ErrUnsupported) {
		c.report.note("%s: %v", path, err)
		return
	}
	if err == nil {
		err = net.CheckFinite()
	}
	if err != nil {
		c.report.problem(path, Corrupt, "get it again", "%v", err)
	}
}

const damagedCheckpoint = "remove its directory: a run goes on from the one before it"

// checkpoint verifies a checkpoint directory: all hashes of its manifest, its
// nets, that its windows can be read, and that nothing else lies in it.
func (c *checker) checkpoint(path string) {
	c.report.Checkpoints++
	cp, err := checkpoint.Open(fsx.OS, path)
	if err != nil {
		if c.live && !exists(path) { // pruned meanwhile
			return
		}
		if corrupt, ok := errors.AsType[*checkpoint.CorruptError](err); ok {
			path = corrupt.Path
		}
		c.report.problem(path, Corrupt, damagedCheckpoint, "%v", err)
		return
	}
	for _, f := range cp.Manifest.Files {
		file := filepath.Join(path, f.Name)
		switch {
		case f.Name == "net.safetensors":
			c.part(cp, f.Name, func(r io.Reader) error { c.readNet(file, r, cp.Manifest.NetID, damagedCheckpoint); return nil })
		case strings.HasSuffix(f.Name, ".safetensors"):
			c.part(cp, f.Name, func(r io.Reader) error { c.readNet(file, r, "", damagedCheckpoint); return nil })
		case f.Section == "window", f.Section == "validation":
			c.part(cp, f.Name, func(r io.Reader) error {
				_, ids, err := replay.ReadWindowSection(r)
				c.wanted = append(c.wanted, reference{file, "the " + f.Section + " games", ids})
				return err
			})
		}
	}
	c.strangers(path, cp.Manifest)
}

// part reads one file of a checkpoint whose hash is right.
func (c *checker) part(cp *checkpoint.Checkpoint, name string, read func(io.Reader) error) {
	r, err := cp.Open(name)
	if err == nil {
		err = errors.Join(read(r), r.Close())
	}
	if err != nil {
		c.report.problem(filepath.Join(cp.Path, name), Corrupt, damagedCheckpoint, "%v", err)
	}
}

// strangers tells of files in a checkpoint that its manifest does not know.
func (c *checker) strangers(path string, m *checkpoint.Manifest) {
	entries, err := os.ReadDir(path)
	if err != nil {
		c.unreadable(path, err)
		return
	}
	for _, e := range entries {
		known := e.Name() == "manifest.json" || slices.ContainsFunc(m.Files, func(f checkpoint.ManifestFile) bool { return f.Name == e.Name() })
		if !known {
			c.report.problem(filepath.Join(path, e.Name()), Orphan, "remove it", "the checkpoint's manifest does not name it")
		}
	}
}

// currentMark holds the marker of a directory of checkpoints against them.
func (c *checker) currentMark(dir string, names []string) {
	name, err := checkpoint.Current(fsx.OS, dir)
	remedy := "a run goes on from the newest whole checkpoint and writes the marker at its next save"
	switch {
	case err != nil:
		c.unreadable(dir, err)
	case name == "":
		c.report.problem(filepath.Join(dir, "current"), Missing, remedy, "there is no marker that names the current checkpoint")
	case !slices.Contains(names, name):
		c.report.problem(filepath.Join(dir, "current"), Missing, remedy, "it names %s, which is not there", name)
	}
}

// counted returns how many games the checkpoints of a run have seen at most.
func (c *checker) counted(dir string) (episodes int64, path string) {
	names, err := checkpoint.List(fsx.OS, dir)
	if err != nil {
		return 0, ""
	}
	for _, name := range names {
		cp, err := checkpoint.Open(fsx.OS, filepath.Join(dir, name))
		if err != nil {
			continue // told already
		}
		seen, err := train.CheckpointEpisode(cp)
		if err != nil {
			c.report.problem(cp.Path, Corrupt, damagedCheckpoint, "%v", err)
		} else if seen > episodes {
			episodes, path = seen, cp.Path
		}
	}
	return episodes, path
}

// manifest verifies a directory that a pipeline step wrote.
func (c *checker) manifest(dir string) {
	c.report.Manifests++
	problems, err := prepare.Check(fsx.OS, dir)
	if err != nil {
		c.report.problem(filepath.Join(dir, prepare.ManifestName), Corrupt, "run the step again into a new directory", "%v", err)
	}
	for _, p := range problems {
		c.report.problem(filepath.Join(dir, p.File), Contradiction, "run the step again into a new directory", "%s", p.Reason)
	}
}
