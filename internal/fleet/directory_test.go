package fleet

import (
	"path/filepath"
	"testing"
	"time"
)

// testDirectory opens a directory to members a, b, ..., whose links it returns.
func testDirectory(t *testing.T, dir string, h Handler, members ...string) (Inbox, []Link) {
	t.Helper()
	key, err := NewKey(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	pin, err := Pin(key)
	if err != nil {
		t.Fatal(err)
	}
	inbox, err := OpenDirectory(DirectoryOptions{Dir: dir, Key: key, Command: "test", Log: silent}, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { inbox.Close() })
	var m Members
	var links []Link
	for _, name := range members {
		seed, err := m.Invite(name, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, Link{Address: filepath.ToSlash(dir), Seed: seed, Pin: pin})
	}
	return inbox, links
}

func openDirectory(t *testing.T, h Handler) *implementation {
	inbox, links := testDirectory(t, filepath.Join(t.TempDir(), "my mail"), h, "a", "b")
	x := &implementation{inbox: inbox}
	for i := range x.posts {
		link, err := ParseLink(links[i].String())
		if err != nil {
			t.Fatal(err)
		}
		if x.posts[i], err = dialDirectory(link, "one", 20<<20, false, silent); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.posts[i].Close() })
	}
	return x
}
