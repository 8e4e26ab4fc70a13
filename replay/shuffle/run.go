package shuffle

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay"
)

// Run shuffles: it counts the games, draws the window, spreads its rows over
// buckets, permutes those, and renames the finished directory into place. The
// result is the marker's content.
//
// Nothing half done is visible: all work happens in <time>.tmp. After a kill
// the next Run of the same settings and directories finishes what was begun, if
// all rows had reached their buckets; else it removes that and begins anew. A
// *ShortError says that there are not enough rows yet, fsx.ErrSync is fatal.
//
// One process at a time may shuffle into an output directory: on fsx.OS a lock
// sees to that (*fsx.LockedError).
func Run(ctx context.Context, o Options) (*Manifest, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := checkInputs(o.FS, o.InputDirs); err != nil {
		return nil, err
	}
	_, err := o.FS.Stat(o.OutputDir)
	made := errors.Is(err, fs.ErrNotExist)
	if err := fsx.MkdirAll(o.FS, o.OutputDir); err != nil {
		return nil, fmt.Errorf("output directory: %w", err)
	}
	m, err := o.alone(ctx)
	if _, short := errors.AsType[*ShortError](err); short && made { // as if nobody had asked
		for _, name := range []string{indexName, lockName, ""} {
			o.FS.Remove(filepath.Join(o.OutputDir, name)) // what somebody else needs meanwhile stays
		}
	}
	return m, err
}

const lockName = ".lock"

// alone is Run with the output directory for itself.
func (o *Options) alone(ctx context.Context) (*Manifest, error) {
	if o.FS == fsx.OS {
		lock, err := fsx.Acquire(filepath.Join(o.OutputDir, lockName), fsx.LockOptions{Command: "chessbrain shuffle"})
		if err != nil {
			return nil, err
		}
		defer lock.Release()
	}
	if err := fsx.RemoveTempsOf(o.FS, filepath.Join(o.OutputDir, indexName)); err != nil {
		return nil, fmt.Errorf("clean up %s: %w", o.OutputDir, err)
	}
	m, err := o.resume(ctx)
	if m == nil && err == nil {
		m, err = o.fresh(ctx)
	}
	if err != nil {
		return nil, err
	}
	return m, o.removeOld()
}

// fresh makes a shuffle from the beginning.
func (o *Options) fresh(ctx context.Context) (*Manifest, error) {
	p, games, err := o.plan(ctx)
	if games != nil {
		if err := fsx.WriteFile(o.FS, filepath.Join(o.OutputDir, indexName), games.encode()); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	if p.Name, err = newName(o.FS, o.OutputDir, o.Now); err != nil {
		return nil, err
	}
	temp := o.tempDir(p.Name)
	if p.Scratch, err = o.scratchFor(p.Name); err != nil {
		return nil, err
	}
	if err := o.checkSpace(p); err != nil {
		return nil, err
	}
	if err := fsx.MkdirAll(o.FS, temp); err != nil {
		return nil, fmt.Errorf("shuffle: %w", err)
	}
	// First the plan, which says where the scratch files are, then those.
	if err := replay.WriteJSON(o.FS, filepath.Join(temp, planName), p); err != nil {
		return nil, err
	}
	for _, dir := range []string{filepath.Join(temp, trainDir), filepath.Join(temp, valDir), p.Scratch} {
		if err := o.FS.Mkdir(dir, 0o777); err != nil {
			return nil, fmt.Errorf("shuffle: %w", err)
		}
		if err := fsx.SyncDir(o.FS, filepath.Dir(dir)); err != nil {
			return nil, err
		}
	}
	o.say("shuffle %s: spreading about %d rows of %d files over %d buckets", p.Name, p.Expected(p.Used+p.ValRows), len(p.Inputs), p.buckets())
	s, err := o.spreadInputs(ctx, p, p.Scratch)
	if err != nil {
		return nil, err
	}
	if err := replay.WriteJSON(o.FS, filepath.Join(temp, spreadName), s); err != nil {
		return nil, err
	}
	return o.finish(ctx, p, s)
}

// scratchFor returns the directory of a shuffle's buckets. In a scratch
// directory that several runs share its name belongs to this output directory.
func (o *Options) scratchFor(name string) (string, error) {
	if o.ScratchDir == "" {
		return filepath.Join(o.tempDir(name), "buckets"), nil
	}
	out, err := filepath.Abs(o.OutputDir)
	if err != nil {
		return "", fmt.Errorf("output directory: %w", err)
	}
	sum := sha256.Sum256([]byte(out))
	return filepath.Join(o.ScratchDir, fmt.Sprintf("%s-%x.buckets", name, sum[:4])), nil
}

// removeScratch removes a plan's buckets, if their directory is one that a
// shuffle makes.
func (o *Options) removeScratch(p *Plan) error {
	base := filepath.Base(p.Scratch)
	if base != "buckets" && !(strings.HasPrefix(base, p.Name+"-") && strings.HasSuffix(base, ".buckets")) {
		return fmt.Errorf("clean up: %s is no directory of buckets", p.Scratch)
	}
	if err := fsx.RemoveAll(o.FS, p.Scratch); err != nil {
		return fmt.Errorf("clean up %s: %w", p.Scratch, err)
	}
	if _, err := o.FS.Stat(filepath.Dir(p.Scratch)); errors.Is(err, fs.ErrNotExist) {
		return nil // with all that was in it
	}
	// Before the shuffle gets its name: afterwards nobody looks for buckets.
	return fsx.SyncDir(o.FS, filepath.Dir(p.Scratch))
}

func (o *Options) tempDir(name string) string { return filepath.Join(o.OutputDir, name+tempSuffix) }

// checkSpace refuses to begin what will not fit.
func (o *Options) checkSpace(p *Plan) error {
	need := uint64(p.DiskBytes())
	if o.ScratchDir == "" {
		return fsx.DefaultReserve.Check(o.FS, o.OutputDir, 2*need)
	}
	if err := fsx.MkdirAll(o.FS, o.ScratchDir); err != nil {
		return fmt.Errorf("scratch directory: %w", err)
	}
	return errors.Join(fsx.DefaultReserve.Check(o.FS, o.OutputDir, need), fsx.DefaultReserve.Check(o.FS, o.ScratchDir, need))
}

// finish makes the files of a shuffle whose rows are in their buckets, writes
// the marker and gives the directory its name.
func (o *Options) finish(ctx context.Context, p *Plan, s *spread) (*Manifest, error) {
	temp := o.tempDir(p.Name)
	o.say("shuffle %s: permuting %d buckets into %d files", p.Name, p.buckets(), p.TrainFiles+p.ValFiles)
	m, err := o.permuteAll(ctx, p, s, p.Scratch, temp)
	if err != nil {
		return nil, err
	}
	if err := replay.WriteJSON(o.FS, filepath.Join(temp, MarkerName), m); err != nil {
		return nil, err
	}
	return m, o.publish(p)
}

// publish removes what is not needed any more and renames. The marker is there.
func (o *Options) publish(p *Plan) error {
	temp := o.tempDir(p.Name)
	if err := o.removeScratch(p); err != nil {
		return err
	}
	for _, path := range []string{filepath.Join(temp, spreadName), filepath.Join(temp, planName)} {
		if err := fsx.RemoveAll(o.FS, path); err != nil {
			return fmt.Errorf("clean up %s: %w", path, err)
		}
	}
	for _, dir := range []string{filepath.Join(temp, trainDir), filepath.Join(temp, valDir), temp} {
		// Files that a killed process was writing: in a finished shuffle nobody looks for them.
		if err := fsx.RemoveTemps(o.FS, dir, ""); err != nil {
			return fmt.Errorf("clean up %s: %w", dir, err)
		}
		if err := fsx.SyncDir(o.FS, dir); err != nil {
			return err
		}
	}
	if err := o.FS.Rename(temp, filepath.Join(o.OutputDir, p.Name)); err != nil {
		return fmt.Errorf("finish shuffle: %w", err)
	}
	return fsx.SyncDir(o.FS, o.OutputDir)
}

// resume finishes the newest shuffle that was begun with the same settings and
// has passed its first phase, and removes the others. It returns nil where
// there is nothing to finish.
func (o *Options) resume(ctx context.Context) (*Manifest, error) {
	names, err := leftovers(o.FS, o.OutputDir)
	if err != nil {
		return nil, err
	}
	var finished *Manifest
	for _, name := range slices.Backward(names) {
		if finished == nil {
			if finished, err = o.resumeOne(ctx, name); err != nil {
				return nil, err
			}
			if finished != nil {
				continue
			}
		}
		if err := o.discard(name); err != nil {
			return nil, err
		}
	}
	return finished, nil
}

// resumeOne finishes one shuffle if that is possible; nil if it is not.
func (o *Options) resumeOne(ctx context.Context, name string) (*Manifest, error) {
	temp := o.tempDir(name)
	if m, err := ReadManifest(o.FS, temp); err == nil && o.same(&m.Plan) {
		o.say("shuffle %s was complete: only its name was missing", name)
		return m, o.publish(&m.Plan)
	}
	p, s := new(Plan), new(spread)
	if readJSON(o.FS, filepath.Join(temp, planName), p) != nil || readJSON(o.FS, filepath.Join(temp, spreadName), s) != nil ||
		!o.same(p) || p.Name != name || len(s.Buckets) != p.buckets() || p.BucketsPerFile < 1 {
		return nil, nil
	}
	for k, b := range s.Buckets {
		info, err := o.FS.Stat(bucketPath(p.Scratch, k))
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() != b.Bytes {
			o.say("shuffle %s: bucket %d is not there any more", name, k)
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	o.say("shuffle %s goes on: its rows are in their buckets", name)
	m, err := o.finish(ctx, p, s)
	if _, corrupt := errors.AsType[*CorruptError](err); corrupt {
		o.say("shuffle %s cannot be finished: %v", name, err)
		return nil, nil
	}
	return m, err
}

// same says whether a plan was made for what o asks.
func (o *Options) same(p *Plan) bool {
	return p.Format == planFormat && p.Settings == o.Settings && slices.Equal(p.InputDirs, o.InputDirs)
}

// discard removes a shuffle that cannot be finished.
func (o *Options) discard(name string) error {
	o.say("shuffle %s was interrupted early or had other settings: it is removed", name)
	p := new(Plan)
	if readJSON(o.FS, filepath.Join(o.tempDir(name), planName), p) == nil && p.Name == name {
		if err := o.removeScratch(p); err != nil {
			return err
		}
	}
	if err := fsx.RemoveAll(o.FS, o.tempDir(name)); err != nil {
		return fmt.Errorf("remove interrupted shuffle: %w", err)
	}
	return fsx.SyncDir(o.FS, o.OutputDir)
}

// removeOld removes the oldest finished shuffles beyond those to keep.
func (o *Options) removeOld() error {
	if o.Keep == 0 {
		return nil
	}
	names, err := List(o.FS, o.OutputDir)
	if err != nil {
		return err
	}
	for _, name := range names[:max(0, len(names)-o.Keep)] {
		o.say("shuffle %s is older than the %d to keep: removed", name, o.Keep)
		if err := fsx.RemoveDir(o.FS, filepath.Join(o.OutputDir, name)); err != nil {
			return fmt.Errorf("remove old shuffle: %w", err)
		}
	}
	return fsx.SyncDir(o.FS, o.OutputDir)
}
