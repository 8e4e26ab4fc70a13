package join

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fleet"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/run/play"
)

// TestGhostsOfDirectory is TestGhosts through a directory. The host is stopped in between,
// and at the second time all that lies in the directory is lost.
func TestGhostsOfDirectory(t *testing.T) {
	t.Parallel()
	number, chunks, games, faults, patience := 6, 6, 5, 20, 4*time.Second
	if many, err := strconv.Atoi(os.Getenv("FLEET_PLAYERS")); err == nil {
		number, games, faults, patience = many, 25, many*11/50, 20*time.Second
	}
	dir, mail := t.TempDir()+"/run", filepath.Join(t.TempDir(), "mail")
	link, log, closeHost := openHost(t, dir, mail)
	if link.Address != filepath.ToSlash(mail) {
		t.Fatalf("link to %s, want %s", link.Address, mail)
	}
	g := startGhosts(t, dir, link, number, chunks, games, float64(faults)/float64(number*chunks), patience)
	g.await(0.3)
	closeHost()
	_, log, closeHost = openHost(t, dir, mail)
	g.await(0.6)
	closeHost()
	if err := os.RemoveAll(mail); err != nil {
		t.Fatal(err)
	}
	_, log, closeHost = openHost(t, dir, mail)
	g.finish(dir, log, closeHost)
}

// TestDirectoryIsAway: a player plays on while the directory is away, says so, and delivers
// when it is back. A member that is revoked then is refused.
func TestDirectoryIsAway(t *testing.T) {
	t.Parallel()
	dir, root, mail := t.TempDir()+"/run", t.TempDir(), filepath.Join(t.TempDir(), "mail")
	link, hostLog, _ := openHost(t, dir, mail)
	log, done := &said{}, make(chan error, 1)
	go func() {
		_, err := Play(t.Context(), PlayerOptions{Link: link, Root: root, Log: runtest.LogTo(log),
			Configure: func(file *config.File, job string, seed uint64, models string) (*config.Effective, error) {
				f := file.Config
				f.RunDir, f.JobId, f.Seed, f.Selfplay.ModelsDir, f.Selfplay.ProducerWorkers = &root, &job, &seed, &models, new(int32(1))
				return config.Resolve(config.Input{File: file})
			}, Play: play.SelfPlayOptions{Command: "test", Version: "v1", Log: runtest.LogTo(log)}})
		done <- err
	}()
	await := func(what string, reached func() bool) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); !reached(); time.Sleep(20 * time.Millisecond) {
			select {
			case err := <-done:
				t.Fatalf("the player ended: %v\n%s", err, log)
			default:
			}
			if time.Now().After(end) {
				t.Fatalf("%s does not come\n%s\n%s", what, log, hostLog)
			}
		}
	}
	says := func(text string) func() bool { return func() bool { return strings.Contains(log.String(), text) } }
	games := func(more int) func() bool { return func() bool { return len(gamesOf(t, dir, "p100001")) > more } }
	await("a game", games(0))
	if err := os.Rename(mail, mail+"2"); err != nil {
		t.Fatal(err)
	}
	await("a word on silence", says("the run does not answer; this player goes on by itself"))
	await("a word on deliveries", says("games wait here"))
	before := len(gamesOf(t, dir, "p100001"))
	if err := os.Rename(mail+"2", mail); err != nil {
		t.Fatal(err)
	}
	await("an answer", says("the run answers again"))
	await("another game", games(before))
	if err := DirOf(dir).Change(func(m *fleet.Members) error { return m.Revoke("players", time.Now()) }); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), revoked) {
		t.Errorf("a player that was revoked: %v\n%s", err, log)
	}
	if strings.Contains(hostLog.String(), "give the servers their files") {
		t.Errorf("the run says:\n%s", hostLog)
	}
}
