package fleet

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/nats-io/nkeys"
)

// Member is a key with which players join.
type Member struct {
	Name    string    `json:"name"` // for people; each once
	Key     string    `json:"key"`  // public
	Seed    string    `json:"seed"` // secret half of the key, for links
	Invited time.Time `json:"invited"`
	Revoked time.Time `json:"revoked,omitzero"`
}

// Members are those of a run.
type Members struct {
	List  []Member `json:"members"`
	Own   string   `json:"own,omitempty"`   // seed of the run's own key, for servers that stand for themselves
	Drain bool     `json:"drain,omitempty"` // players shall stop once all is delivered
}

// memberName is what a member may be called, which stands in tables and in files of servers:
// of up to 40 letters, which Invite counts, as here that would take 10 ms of each start.
var memberName = regexp.MustCompile(`^[\pL\pN][\pL\pN._@-]*$`)

// Invite adds a member, or finds it, and returns the secret half of its key.
func (m *Members) Invite(name string, now time.Time) (seed string, err error) {
	if !memberName.MatchString(name) || len([]rune(name)) > 40 {
		return "", fmt.Errorf("member %q: want 1 to 40 letters, digits, points, dashes, @ and underlines", name)
	}
	if i := m.find(name); i >= 0 && m.List[i].Revoked.IsZero() {
		return m.List[i].Seed, nil
	} else if i >= 0 {
		return "", fmt.Errorf("%q was revoked; invite another name", name)
	}
	key, seed, err := newPair()
	if err != nil {
		return "", err
	}
	m.List = append(m.List, Member{Name: name, Key: key, Seed: seed, Invited: now.UTC().Truncate(time.Second)})
	return seed, nil
}

// firstMember is invited with a run's first start.
const firstMember = "players"

// First makes the first member where there is none.
func (m *Members) First() (err error) {
	if len(m.List) == 0 {
		_, err = m.Invite(firstMember, time.Now())
	}
	return err
}

// MakeOwn makes the run's own key where there is none.
func (m *Members) MakeOwn() (err error) {
	if m.Own == "" {
		_, m.Own, err = newPair()
	}
	return err
}

// newPair makes a key: its public half and its seed.
func newPair() (public, seed string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", "", err
	}
	secret, err := pair.Seed()
	if err != nil {
		return "", "", err
	}
	public, err = pair.PublicKey()
	return public, string(secret), err
}

// Revoke ends a membership. Games that came before stay.
func (m *Members) Revoke(name string, now time.Time) error {
	i := m.find(name)
	if i < 0 {
		return fmt.Errorf("no member %q; chessbrain fleet list names them", name)
	}
	if m.List[i].Revoked.IsZero() {
		m.List[i].Revoked = now.UTC().Truncate(time.Second)
	}
	return nil
}

// Name is that of the member with a key, "" where it has none or is revoked.
func (m *Members) Name(key string) string {
	for _, member := range m.List {
		if member.Key == key && member.Revoked.IsZero() {
			return member.Name
		}
	}
	return ""
}

func (m *Members) find(name string) int {
	return slices.IndexFunc(m.List, func(x Member) bool { return x.Name == name })
}

// keys are those that may join.
func (m *Members) keys() (keys []string) {
	for _, member := range m.List {
		if member.Revoked.IsZero() {
			keys = append(keys, member.Key)
		}
	}
	return keys
}
