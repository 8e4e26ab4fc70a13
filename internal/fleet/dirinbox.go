package fleet

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nkeys"
	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// DirectoryOptions open a directory that machines share to players.
type DirectoryOptions struct {
	Dir     string
	Key     []byte // as of a server
	Command string // of the run, for others that want the directory
	Log     *slog.Logger
}

// dirInbox is an Inbox of a directory.
type dirInbox struct {
	mailDir
	private *ecdsa.PrivateKey
	public  []byte
	handler Handler
	log     *slog.Logger
	lock    *fsx.Lock
	ready   chan *Delivery

	ctx  context.Context
	stop context.CancelFunc
	wait sync.WaitGroup

	mu     sync.Mutex
	later  map[string]time.Time // paths of files that are left alone until then
	kept   keptNets
	toPlay []byte // the file
}

// OpenDirectory makes what a directory does not have, and answers players from then on. One
// process has a directory at a time, and one run for ever.
func OpenDirectory(opt DirectoryOptions, h Handler) (Inbox, error) {
	x := &dirInbox{mailDir: mailDir(opt.Dir), handler: h, log: opt.Log, ready: make(chan *Delivery), later: map[string]time.Time{}}
	var err error
	if x.private, x.public, err = privateKey(opt.Key); err != nil {
		return nil, err
	}
	err = fsx.MkdirAll(fsx.OS, filepath.Dir(opt.Dir))
	if err == nil {
		err = mkdir(opt.Dir)
	}
	if err == nil {
		x.lock, err = fsx.Acquire(x.path(lockFile), fsx.LockOptions{Command: opt.Command})
	}
	if err != nil {
		return nil, fmt.Errorf("directory of the fleet: %w; name another one, or wait", err)
	}
	if err = x.make(); err == nil {
		err = x.knowNets()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("directory of the fleet: %w", err), x.lock.Release())
	}
	x.ctx, x.stop = context.WithCancel(context.Background())
	x.wait.Go(func() { x.serve(asks, x.answer) })
	x.wait.Go(func() { x.serve(chunks, x.handOut) })
	x.wait.Go(func() { x.sweep() })
	return x, nil
}

// mkdir makes a directory for its owner alone, unless it is there.
func mkdir(path string) error {
	if err := fsx.OS.Mkdir(path, 0o700); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// make makes what is not there.
func (x *dirInbox) make() error {
	for _, folder := range []string{asks, answers, chunks, verdicts, nets} {
		if err := mkdir(x.path(folder)); err != nil {
			return err
		}
	}
	there, err := readRegular(x.path(keyFile), 1<<10)
	switch {
	case err == nil && string(there) == string(x.public):
		return nil
	case err == nil:
		return fmt.Errorf("%s is another run's: name another directory for this one", x.path(keyFile))
	case errors.Is(err, fs.ErrNotExist):
		return fsx.WriteUnsynced(x.path(keyFile), x.public)
	}
	return fmt.Errorf("read %s: %w", x.path(keyFile), err)
}

// knowNets takes over the nets that an earlier process published.
func (x *dirInbox) knowNets() error {
	entries, err := fsx.OS.ReadDir(x.path(nets))
	made := map[string]time.Time{}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && netFile.MatchString(e.Name()) {
			made[e.Name()] = info.ModTime()
			x.kept.order = append(x.kept.order, strings.TrimSuffix(e.Name(), netSuffix))
		}
	}
	slices.SortStableFunc(x.kept.order, func(a, b string) int { return made[a+netSuffix].Compare(made[b+netSuffix]) })
	return err
}

// serve takes the files of a folder as they come. It is patient with a directory that goes away.
func (x *dirInbox) serve(folder string, take func(name string, p Player, body []byte)) {
	away := false
	poll(x.ctx, 200*time.Millisecond, func() bool {
		busy, err := x.pass(folder, take)
		if errors.Is(err, fs.ErrNotExist) {
			err = x.restore()
		}
		if err != nil && !away {
			x.log.Warn("the directory of the fleet cannot be read; players wait until it is back", "error", err)
		} else if err == nil && away {
			x.log.Info("the directory of the fleet is back", "directory", x.path())
		}
		away = err != nil
		return busy
	})
}

// pass hands what players have sealed to take, several files at once, and removes all else.
func (x *dirInbox) pass(folder string, take func(name string, p Player, body []byte)) (busy bool, err error) {
	names, err := x.list(folder)
	if err != nil {
		return false, err
	}
	x.mu.Lock()
	for path := range x.later { // of files that are gone
		if f, name := filepath.Split(path); f == x.path(folder)+string(filepath.Separator) {
			if _, there := slices.BinarySearch(names, name); !there {
				delete(x.later, path)
			}
		}
	}
	x.mu.Unlock()
	var mu sync.Mutex
	var bad []string
	var why error
	var group errgroup.Group
	group.SetLimit(readers)
	for _, name := range names {
		if x.ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			path := x.path(folder, name)
			x.mu.Lock()
			until := x.later[path]
			x.mu.Unlock()
			if time.Now().Before(until) {
				return nil
			}
			p, body, err := x.open(folder, name)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil {
				take(name, p, body)
			} else if !errors.Is(err, errBad) || x.remove(folder, name) != nil {
				x.leave(path, keptBad)
			}
			mu.Lock()
			defer mu.Unlock()
			if busy = busy || err == nil; err != nil {
				bad, why = append(bad, name), err
			}
			return nil
		})
	}
	if group.Wait(); len(bad) > 0 {
		slices.Sort(bad)
		x.log.Warn("files in the directory of the fleet are no player's; they are removed, or left alone", "folder", folder, "files", len(bad), "first", strconv.Quote(bad[0]), "error", why)
	}
	return busy, nil
}

// open reads what a player sealed.
func (x *dirInbox) open(folder, name string) (p Player, body []byte, err error) {
	parts := plainName.FindStringSubmatch(name)
	if parts == nil {
		return p, nil, errBad
	}
	p = Player{Member: parts[1], Instance: parts[2]}
	member, err := nkeys.FromPublicKey(p.Member)
	if err != nil {
		return p, nil, errBad
	}
	body, err = x.unseal(folder, name, member.Verify)
	if err == nil && folder == chunks && parts[3] != chunkName(body) {
		err = errBad
	}
	return p, body, err
}

// leave leaves a file alone for a while.
func (x *dirInbox) leave(path string, d time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.later[path] = time.Now().Add(d)
}

// answer answers a question.
func (x *dirInbox) answer(name string, p Player, body []byte) {
	reply := answer(x.handler, p, body)
	data, err := json.Marshal(reply)
	if err == nil && reply != nil {
		err = x.seal(answers, name, data, x.sign)
	}
	if err == nil {
		err = x.remove(asks, name)
	}
	if err != nil {
		x.leave(x.path(asks, name), ackWait)
		x.log.Warn("a player of the fleet has no answer", "error", err)
	}
}

// sign seals for the run.
func (x *dirInbox) sign(message []byte) ([]byte, error) {
	hash := sha256.Sum256(message)
	return ecdsa.SignASN1(rand.Reader, x.private, hash[:])
}

// handOut hands a chunk to the run.
func (x *dirInbox) handOut(name string, p Player, body []byte) {
	d := &Delivery{Chunk: Chunk{Player: p, Data: body}}
	path, settled := x.path(chunks, name), false
	d.Settle = func(v Verdict) error {
		data, err := json.Marshal(v)
		if err == nil {
			err = x.seal(verdicts, p.fileName(v.Sum), data, x.sign)
		}
		if err == nil {
			err = x.remove(chunks, name)
		}
		if err != nil { // it comes again, which does no harm
			x.log.Warn("a player hears of its games later", "error", err)
			return nil
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		settled = true
		delete(x.later, path)
		return nil
	}
	select {
	case x.ready <- d:
	case <-x.ctx.Done():
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !settled {
		x.later[path] = time.Now().Add(ackWait)
	}
}

// Next waits for a delivery.
func (x *dirInbox) Next(ctx context.Context) (*Delivery, error) {
	select {
	case d := <-x.ready:
		return d, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-x.ctx.Done():
		return nil, fs.ErrClosed
	case <-x.lock.Lost():
		return nil, fmt.Errorf("another process has taken the directory of the fleet, %s: this one did not write there for a minute", x.path())
	}
}

// Publish makes a net known, to play with.
func (x *dirInbox) Publish(_ context.Context, r NetRef, file []byte) error {
	return x.put(r, file, true)
}

// Store makes a net known that nobody plays with but matches.
func (x *dirInbox) Store(_ context.Context, r NetRef, file []byte) error {
	return x.put(r, file, false)
}

func (x *dirInbox) put(r NetRef, file []byte, toPlay bool) error {
	if err := checkFile(r, file); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := fsx.WriteUnsynced(x.path(nets, r.SHA256+netSuffix), file); err != nil {
		return fmt.Errorf("publish net %s: %w", r.Name, err)
	}
	if toPlay {
		x.toPlay = slices.Clone(file)
	}
	for _, sum := range x.kept.add(r.SHA256, toPlay) {
		if err := x.remove(nets, sum+netSuffix); err != nil {
			return fmt.Errorf("remove an old net: %w", err)
		}
	}
	return nil
}

// restore makes what was removed: who cleans a disk up takes old files, and then folders that
// are empty. A directory that is gone itself may be a disk that comes back.
func (x *dirInbox) restore() error {
	if _, err := fsx.OS.Stat(x.path()); err != nil {
		return err
	}
	if err := x.make(); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	path := x.path(nets, x.kept.toPlay+netSuffix)
	if _, err := fsx.OS.Stat(path); x.toPlay == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fsx.WriteUnsynced(path, x.toPlay)
}

// sweep removes what nobody takes, by this process's clock alone. seen says since when it
// sees a file.
func (x *dirInbox) sweep() {
	seen := map[string]time.Time{}
	for tick := time.Tick(sweepEvery); ; {
		select {
		case <-x.ctx.Done():
			return
		case <-tick:
		}
		_ = x.restore() // serve tells of a directory that is away
		before := seen
		seen = map[string]time.Time{}
		for folder, kept := range map[string]time.Duration{answers: keptAnswer, verdicts: keptVerdict} {
			names, _ := x.list(folder)
			for _, name := range names {
				path := x.path(folder, name)
				if since, known := before[path]; !known {
					seen[path] = time.Now()
				} else if time.Since(since) < kept || x.remove(folder, name) != nil {
					seen[path] = since
				}
			}
		}
		fsx.RemoveDead(fsx.OS, x.path(), 1)
	}
}

// Close ends the inbox. What nobody settled comes again.
func (x *dirInbox) Close() error {
	x.stop()
	x.wait.Wait()
	return x.lock.Release()
}
