package fleet

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nkeys"
	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// A directory that machines share carries a fleet where no port can be opened. What one
// side tells the other is a file that it has sealed. Nothing there needs to outlive a crash:
// it is written without syncs.
const (
	asks     = "asks"     // MEMBER.INSTANCE.RANDOM: a question, until it is answered
	answers  = "answers"  // of the same name
	chunks   = "chunks"   // MEMBER.INSTANCE.SUM-BYTES, until it is settled
	verdicts = "verdicts" // MEMBER.INSTANCE.SUM
	nets     = "nets"     // SUM.safetensors, without a seal: who fetches one knows its hash

	keyFile   = "public.key" // with which the run seals; links have its hash
	lockFile  = "inbox"      // held by the run that plays by the directory
	netSuffix = ".safetensors"
)

const (
	answerTime = 3 * time.Minute // some file systems show what is new a minute late
	slowAnswer = 10 * time.Second
	keptAnswer = 10 * time.Minute
	keptBad    = time.Hour // until a bad file that cannot be removed is told of again
	sweepEvery = time.Minute
	readers    = 8 // files that are read at once

	maxSignature = 72
	keptVerdict  = time.Hour // its chunk is delivered again by then
)

// What a player's files are called.
var (
	plainName = regexp.MustCompile(`^(U[A-Z2-7]{55})\.([A-Za-z0-9_-]{1,40})\.([A-Za-z0-9-]{1,80})$`)
	netFile   = regexp.MustCompile(`^[0-9a-f]{64}\` + netSuffix + `$`)
)

func (p Player) fileName(last string) string { return p.Member + "." + p.Instance + "." + last }

func chunkName(data []byte) string { return SumOf(data) + "-" + strconv.Itoa(len(data)) }

// mailDir is the directory of a fleet.
type mailDir string

func (d mailDir) path(names ...string) string {
	return filepath.Join(append([]string{string(d)}, names...)...)
}

// A seal covers folder and name of a file, so that it cannot be taken elsewhere.
func toSeal(folder, name string, body []byte) []byte {
	return slices.Concat([]byte(folder+"/"+name+"\n"), body)
}

// seal writes a file: the length of a signature in a byte, the signature, and the body.
func (d mailDir) seal(folder, name string, body []byte, sign func([]byte) ([]byte, error)) error {
	signature, err := sign(toSeal(folder, name, body))
	if err != nil {
		return err
	}
	return fsx.WriteUnsynced(d.path(folder, name), slices.Concat([]byte{byte(len(signature))}, signature, body))
}

// errBad says that a file is not as its writer must have made it.
var errBad = errors.New("not sealed by whom its name says")

// unseal reads a file.
func (d mailDir) unseal(folder, name string, verify func(message, signature []byte) error) ([]byte, error) {
	data, err := readRegular(d.path(folder, name), 1+maxSignature+MaxChunk)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 || len(data) <= int(data[0]) {
		return nil, errBad
	}
	signature, body := data[1:1+data[0]], data[1+data[0]:]
	if verify(toSeal(folder, name, body), signature) != nil {
		return nil, errBad
	}
	return body, nil
}

// readRegular reads a file of so many bytes at most. It follows no link.
func readRegular(path string, most int64) ([]byte, error) {
	named, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !named.Mode().IsRegular() || named.Size() > most {
		return nil, fmt.Errorf("%w: no regular file of at most %d bytes", errBad, most)
	}
	f, err := fsx.OS.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, named.Size())
	opened, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !os.SameFile(named, opened):
		return nil, fs.ErrNotExist // it was replaced just now
	}
	n, err := f.ReadAt(data, 0)
	if n < len(data) {
		return nil, err
	}
	return data, nil
}

// list lists a folder.
func (d mailDir) list(folder string) (names []string, err error) {
	entries, err := fsx.OS.ReadDir(d.path(folder))
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") { // a file under way
			names = append(names, e.Name())
		}
	}
	return names, err
}

// remove removes a file, if it is there.
func (d mailDir) remove(folder, name string) error {
	if err := fsx.OS.Remove(d.path(folder, name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// poll does something again and again until ctx ends: soon while there is something to do,
// and else less and less often.
func poll(ctx context.Context, least time.Duration, do func() (busy bool)) {
	const most = time.Second
	for pause := least; ctx.Err() == nil; {
		if do() {
			pause = least
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(pause*3/2, most)
	}
}

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
	d.settle = func(v Verdict) error {
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

// dirPost is a Post of a directory.
type dirPost struct {
	asker
	mailDir
	link     Link
	player   Player
	sign     func([]byte) ([]byte, error)
	mailbox  int64
	log      *slog.Logger
	verdicts chan Verdict

	stop context.CancelFunc
	wait sync.WaitGroup

	mu   sync.Mutex
	key  *ecdsa.PublicKey // of the run
	open map[string]bool  // hashes of chunks without a verdict
	slow bool             // that the run does not answer was said
}

// dialDirectory is Dial to a directory, of which chunks may fill so many bytes.
func dialDirectory(link Link, instance string, mailbox int64, patient bool, log *slog.Logger) (Post, error) {
	pair, member, err := link.keys()
	if err != nil {
		return nil, err
	}
	p := &dirPost{mailDir: mailDir(filepath.FromSlash(link.Address)), link: link, player: Player{member, instance}, sign: pair.Sign,
		mailbox: mailbox, log: log, verdicts: make(chan Verdict, verdictRoom), open: map[string]bool{}}
	if !plainName.MatchString(p.player.fileName("x")) {
		return nil, fmt.Errorf("player %q: want 1 to 40 letters, digits, dashes and underlines", instance)
	}
	if _, err := p.runKey(); errors.Is(err, errOtherKey) || err != nil && !patient {
		return nil, err
	} else if err != nil {
		log.Warn("nobody answers; this goes on trying", "directory", link.Address, "error", err)
	}
	p.asker = p.ask
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	p.wait.Go(func() { poll(ctx, time.Second, p.takeVerdicts) })
	return p, nil
}

// runKey is the run's key, if the directory has the one of the link.
func (p *dirPost) runKey() (*ecdsa.PublicKey, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.key != nil {
		return p.key, nil
	}
	key, err := readKeyFile(p.link)
	if err == nil {
		p.key = key
	}
	return key, err
}

func readKeyFile(link Link) (*ecdsa.PublicKey, error) {
	data, err := readRegular(filepath.Join(filepath.FromSlash(link.Address), keyFile), 1<<10)
	if err != nil {
		return nil, link.unreached(err)
	}
	if sum := sha256.Sum256(data); string(sum[:]) != link.Pin {
		return nil, fmt.Errorf("the directory %s %w", link.Address, errOtherKey)
	}
	key, err := x509.ParsePKIXPublicKey(data)
	if key, ok := key.(*ecdsa.PublicKey); ok && err == nil {
		return key, nil
	}
	return nil, fmt.Errorf("the directory %s %w", link.Address, errOtherKey)
}

// read reads what the run sealed, and removes it.
func (p *dirPost) read(folder, name string, into any) error {
	key, err := p.runKey()
	if err != nil {
		return err
	}
	body, err := p.unseal(folder, name, func(message, signature []byte) error {
		if hash := sha256.Sum256(message); !ecdsa.VerifyASN1(key, hash[:], signature) {
			return errBad
		}
		return nil
	})
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil && !errors.Is(err, errBad) {
		return err
	}
	if fsx.OS.Remove(p.path(folder, name)) == nil && err != nil {
		p.log.Warn("a file in the directory of the fleet is not the run's; it was removed", "folder", folder, "file", name, "error", err)
	}
	return err
}

// ask asks the run.
func (p *dirPost) ask(ctx context.Context, q question, into any) error {
	data, err := json.Marshal(q)
	if err == nil {
		err = checkSize(data)
	}
	if err != nil {
		return err
	}
	name := p.player.fileName(rand.Text())
	if err := p.seal(asks, name, data, p.sign); err != nil {
		return fmt.Errorf("%w: %v", ErrNoAnswer, err)
	}
	defer fsx.OS.Remove(p.path(asks, name)) // the run has, where it answered
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	began := time.Now()
	poll(ctx, 100*time.Millisecond, func() bool {
		if err = p.read(answers, name, into); err == nil || errors.Is(err, errOtherKey) {
			cancel()
		}
		p.tellSlow(time.Since(began) > slowAnswer, err == nil)
		return false
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("nothing came within %v", time.Since(began).Round(time.Second))
	}
	if err != nil {
		return fmt.Errorf("%w: %v", ErrNoAnswer, err)
	}
	return nil
}

// tellSlow says once that an answer takes long.
func (p *dirPost) tellSlow(slow, answered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slow && !p.slow {
		p.log.Warn("no answer yet; this file system may show late what is new, or the run is not at work", "directory", p.link.Address, "waits", answerTime)
	}
	p.slow = (p.slow || slow) && !answered
}

func (p *dirPost) Fetch(_ context.Context, r NetRef) ([]byte, error) {
	file, err := readRegular(p.path(nets, r.SHA256+netSuffix), r.Bytes)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNoNet
	}
	if err == nil {
		err = checkFile(r, file)
	}
	if err != nil {
		return nil, fmt.Errorf("fetch net %s: %w", r.Name, err)
	}
	return file, nil
}

// Deliver puts a chunk there once, whatever the attempt.
func (p *dirPost) Deliver(_ context.Context, data []byte, _ int) error {
	if err := checkSize(data); err != nil {
		return err
	}
	names, err := p.list(chunks)
	waiting := int64(len(data))
	for _, name := range names {
		_, bytes, _ := strings.Cut(name, "-")
		n, _ := strconv.ParseUint(bytes, 10, 40)
		waiting += int64(n)
	}
	if waiting > p.mailbox {
		return ErrFull
	}
	p.mu.Lock()
	p.open[SumOf(data)] = true
	p.mu.Unlock()
	if err == nil {
		err = p.seal(chunks, p.player.fileName(chunkName(data)), data, p.sign)
	}
	if err != nil {
		return fmt.Errorf("deliver games: %v", err)
	}
	return nil
}

// takeVerdicts looks for verdicts while some are open.
func (p *dirPost) takeVerdicts() (busy bool) {
	p.mu.Lock()
	open := len(p.open)
	p.mu.Unlock()
	if open == 0 {
		return false
	}
	names, _ := p.list(verdicts) // deliveries tell of a directory that is away
	for _, name := range names {
		var v Verdict
		if !strings.HasPrefix(name, p.player.fileName("")) || p.read(verdicts, name, &v) != nil {
			continue
		}
		p.mu.Lock()
		delete(p.open, v.Sum)
		p.mu.Unlock()
		hand(p.verdicts, v)
		busy = true
	}
	return busy
}

func (p *dirPost) Verdicts() <-chan Verdict { return p.verdicts }

func (p *dirPost) Close() error {
	p.stop()
	p.wait.Wait()
	return nil
}
