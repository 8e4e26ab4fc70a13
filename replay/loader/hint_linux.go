package loader

import (
	"os"
	"sync"
	"syscall"
)

// inotify is the hinter of Linux. It may miss changes, and does where there are
// more directories than the system lets it watch: the poll finds those.
type inotify struct {
	file    *os.File
	fd      int
	watched map[string]bool
	changes chan struct{}
	reader  sync.WaitGroup
}

// newHinter returns a hinter; one that never hints where the system refuses.
func newHinter() hinter {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return noHints{}
	}
	h := &inotify{file: os.NewFile(uintptr(fd), "inotify"), fd: fd, watched: map[string]bool{}, changes: make(chan struct{}, 1)}
	h.reader.Go(h.read)
	return h
}

// Watch watches a directory.
func (h *inotify) Watch(dir string) {
	const mask = syscall.IN_CLOSE_WRITE | syscall.IN_MOVED_TO | syscall.IN_MOVED_FROM | syscall.IN_CREATE | syscall.IN_DELETE
	if h.watched[dir] {
		return
	}
	if _, err := syscall.InotifyAddWatch(h.fd, dir, mask|syscall.IN_ONLYDIR); err == nil {
		h.watched[dir] = true
	}
}

// read turns the system's events, whatever they say, into hints.
func (h *inotify) read() {
	buf := make([]byte, 64<<10)
	for {
		if _, err := h.file.Read(buf); err != nil {
			return // closed
		}
		select {
		case h.changes <- struct{}{}:
		default:
		}
	}
}

// C returns the channel of hints.
func (h *inotify) C() <-chan struct{} { return h.changes }

// Close ends the reader and waits for it.
func (h *inotify) Close() error {
	err := h.file.Close()
	h.reader.Wait()
	return err
}
