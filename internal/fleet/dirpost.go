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
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

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
	put := began
	poll(ctx, 100*time.Millisecond, func() bool {
		if err = p.read(answers, name, into); err == nil || errors.Is(err, errOtherKey) {
			cancel()
		} else if time.Since(put) > askAgain {
			if _, gone := os.Lstat(p.path(asks, name)); errors.Is(gone, fs.ErrNotExist) { // it was lost, or its answer
				_ = p.seal(asks, name, data, p.sign)
			}
			put = time.Now()
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
	return fetched(r, file, err)
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

// takeVerdicts looks for the verdicts that are open.
func (p *dirPost) takeVerdicts() (busy bool) {
	p.mu.Lock()
	sums := slices.Collect(maps.Keys(p.open))
	p.mu.Unlock()
	for _, sum := range sums {
		var v Verdict
		if p.read(verdicts, p.player.fileName(sum), &v) != nil { // deliveries tell of a directory that is away
			continue
		}
		p.mu.Lock()
		delete(p.open, sum)
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
