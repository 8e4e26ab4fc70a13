package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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
	askAgain   = 30 * time.Second
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
