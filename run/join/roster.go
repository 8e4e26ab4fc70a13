package join

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/fleet"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/run"
)

// Dir is the directory of a run's fleet. It holds keys, so it is its owner's alone.
type Dir string

// DirOf is the fleet's directory in a run.
func DirOf(root string) Dir { return Dir(run.Dir{Root: root}.Fleet()) }

func (d Dir) key() string     { return filepath.Join(string(d), "tls.pem") }
func (d Dir) members() string { return filepath.Join(string(d), "members.json") }
func (d Dir) roster() string  { return filepath.Join(string(d), "players.json") }
func (d Dir) joins() string   { return filepath.Join(string(d), "joined.jsonl") }
func (d Dir) ledger() string  { return filepath.Join(string(d), "ledger.json") }
func (d Dir) distrusted(process string) string {
	return filepath.Join(string(d), "distrusted", process)
}
func (d Dir) server() string { return filepath.Join(string(d), "server") }

// make makes the directory.
func (d Dir) make() error {
	if err := fsx.MkdirAll(fsx.OS, string(d)); err != nil {
		return err
	}
	return os.Chmod(string(d), 0o700)
}

// Members reads who may join.
func (d Dir) Members() (m fleet.Members, err error) {
	if _, err = run.ReadJSON(d.members(), &m); err != nil {
		err = fmt.Errorf("read members of the fleet: %w; put %s back from a copy", err, d.members())
	}
	return m, err
}

// Change changes who may join. A Host that is at work sees it within seconds.
func (d Dir) Change(change func(m *fleet.Members) error) error {
	if err := d.make(); err != nil {
		return err
	}
	lock, err := fsx.Acquire(filepath.Join(string(d), "members"), fsx.LockOptions{Command: "chessbrain fleet"})
	if err != nil {
		return err
	}
	m, err := d.Members()
	if err == nil {
		err = change(&m)
	}
	if err == nil {
		err = run.WriteJSON(d.members(), m)
	}
	return errors.Join(err, lock.Release())
}

// readKey reads the server's key, or makes one.
func (d Dir) readKey() ([]byte, error) {
	key, err := fleet.ReadKey(d.key())
	if errors.Is(err, fleet.ErrKey) {
		err = &fsx.CorruptError{Path: d.key(), Reason: err.Error()}
	}
	return key, err
}

// Link returns the link of a member to a host at address, and makes the server's key
// where there is none yet. Servers of others, not a directory, are known to the players'
// authorities.
func (d Dir) Link(seed, address string, others bool) (fleet.Link, error) {
	link := fleet.Link{Address: address, Seed: seed}
	if others && !fleet.IsDirectory(address) {
		return link, nil
	}
	key, err := d.readKey()
	if err == nil {
		link.Pin, err = fleet.Pin(key)
	}
	return link, err
}

// Cluster is NATS servers at addresses as the run reaches them, with a key of its own
// there, which is made where there is none.
func (d Dir) Cluster(addresses string) (c fleet.Cluster, err error) {
	var own string
	if err = d.Change(func(m *fleet.Members) error {
		err := errors.Join(m.MakeOwn(), m.First())
		own = m.Own
		return err
	}); err != nil {
		return c, err
	}
	link, err := d.Link(own, addresses, false)
	return fleet.Cluster{Addresses: addresses, Seed: own, Pin: link.Pin}, err
}

// WriteCluster writes the files of NATS servers at addresses into a directory: for each
// its configuration, and for all their key. It returns the names.
func (d Dir) WriteCluster(addresses, dir string) (names []string, err error) {
	c, err := d.Cluster(addresses)
	if err != nil {
		return nil, err
	}
	m, err := d.Members()
	if err != nil {
		return nil, err
	}
	key, err := d.readKey()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	var hosts []string
	for i, address := range strings.Split(addresses, ",") {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, host)
		text, err := c.Config(i, clusterKey, m)
		if err != nil {
			return nil, err
		}
		files[fmt.Sprintf("node%d.conf", i+1)] = []byte(text)
	}
	if files[clusterKey], err = fleet.Certify(key, hosts, time.Now()); err != nil {
		return nil, err
	}
	if err := fsx.MkdirAll(fsx.OS, dir); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, files[name], 0o600); err != nil {
			return nil, err
		}
		names = append(names, path)
	}
	return names, nil
}

const clusterKey = "tls.pem" // of all servers of a cluster

// Roster is who has joined a run, and how far that came.
type Roster struct {
	Address  string         `json:"address"`            // where players join, as links say it
	Unpinned bool           `json:"unpinned,omitempty"` // the servers there are known to authorities, not by the run's key
	Nets     []fleet.NetRef `json:"nets"`               // that were published, the newest last
	Players  []*PlayerEntry `json:"players"`
}

// PlayerEntry is a player.
type PlayerEntry struct {
	Member   string    `json:"member"` // public key
	Instance string    `json:"instance"`
	Process  uint64    `json:"process"` // its number in the run
	Host     string    `json:"host"`
	Version  string    `json:"version"`
	CPU      string    `json:"cpu"`
	Joined   time.Time `json:"joined"`
	Seen     time.Time `json:"seen"`

	Beat     fleet.Beat `json:"beat"`
	Games    int64      `json:"games"`    // of it that the run has counted since Joined
	Rejected int64      `json:"rejected"` // chunks
	Audited  bool       `json:"audited"`  // a game that it played of a match was played again, and was the same
	Reason   string     `json:"reason,omitempty"`

	// Distrusted says why no game of the player is taken any more; "" = they are.
	Distrusted string `json:"distrusted,omitempty"`
}

// maxKnownNets is how many names of nets a roster keeps.
const maxKnownNets = 1000

// player is who the entry is of.
func (e *PlayerEntry) player() fleet.Player {
	return fleet.Player{Member: e.Member, Instance: e.Instance}
}

// joinLine says which number a player has. It is on disk before the player knows it.
type joinLine struct {
	Member   string `json:"member"`
	Instance string `json:"instance"`
	Process  uint64 `json:"process"`
}

var joinLines = run.LinesForm[joinLine]{Name: "numbers of the fleet's players", Remedy: "; put it back from a copy", Check: func(l *joinLine) error {
	if l.Process == 0 || l.Instance == "" {
		return fmt.Errorf("process %d of instance %q", l.Process, l.Instance)
	}
	return nil
}}

// Roster reads who has joined.
func (d Dir) Roster() (r Roster, err error) {
	if _, err = run.ReadJSON(d.roster(), &r); err != nil {
		err = fmt.Errorf("read players of the fleet: %w; put %s back from a copy", err, d.roster())
	}
	return r, err
}

// newInstance makes the name of a player.
func newInstance() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
