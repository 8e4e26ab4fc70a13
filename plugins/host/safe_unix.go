//go:build unix

package host

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// writableByOthers are the permissions that let somebody else change a file, or
// put one into a directory.
const writableByOthers fs.FileMode = 0o022

// checkSafe says why somebody else could choose what runs: group or others may
// write to the file or directory of that description, or another user owns it, who
// can give himself that right at any time. A plugin runs with this user's rights,
// so nobody but this user and root may decide its content. The error is ErrUnsafe.
func checkSafe(path string, info fs.FileInfo) error {
	if info.Mode()&writableByOthers != 0 {
		return mark(ErrUnsafe, fmt.Errorf("%s has mode %v: group or others can change it, and it would run with your rights; chmod go-w %s",
			path, info.Mode(), path))
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return mark(ErrUnsafe, fmt.Errorf("%s has mode %v: this system does not say whose it is; copy it to a disk that does", path, info.Mode()))
	}
	if me := os.Geteuid(); owner.Uid != 0 && int(owner.Uid) != me {
		return mark(ErrUnsafe, fmt.Errorf("%s has mode %v and belongs to user %d, who can change it, and it would run with the rights of user %d; "+
			"copy it to a directory of your own, and chmod go-w the copy", path, info.Mode(), owner.Uid, me))
	}
	return nil
}

// mine says whether path is a directory of this user.
func mine(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

// noFollow keeps a file that is opened from being a link.
const noFollow = syscall.O_NOFOLLOW

func executable(info fs.FileInfo) bool { return info.Mode().IsRegular() && info.Mode()&0o111 != 0 }

// private says whether an address is a Unix socket in that directory.
func private(network, address, dir string) bool {
	return network == "unix" && filepath.Dir(filepath.Clean(address)) == dir
}
