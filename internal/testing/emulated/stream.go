//go:build linux || darwin

package emulated

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// stream implements driver.Stream.
type stream struct {
	d         *device
	queue     []*task
	capture   *graph // what is captured into; null: nothing is
	destroyed bool
}

// NewStream implements driver.Device.
func (d *device) NewStream() (driver.Stream, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable("new stream"); err != nil {
		return nil, err
	}
	s := &stream{d: d}
	d.streams = append(d.streams, s)
	return s, nil
}

// begin locks the device for a call on s.
func (s *stream) begin(what string) error {
	s.d.mu.Lock()
	if s.destroyed {
		return fmt.Errorf("%s: the stream is destroyed", what)
	}
	return s.d.usable(what)
}

// add puts work on the stream or into its graph.
func (s *stream) add(run func() error) {
	if s.capture != nil {
		s.capture.work = append(s.capture.work, run)
		return
	}
	s.d.push(s, &task{run: run})
}

// CopyToDevice implements driver.Stream. Page-locked memory, and any memory in a
// graph, is read when the copy is done; other memory now.
func (s *stream) CopyToDevice(dst driver.Ptr, src []byte) error {
	err := s.begin("copy to device")
	defer s.d.mu.Unlock()
	if err != nil || len(src) == 0 {
		return err
	}
	if _, err := s.d.view(dst, len(src)); err != nil {
		return fmt.Errorf("copy to device: %w", err)
	}
	if s.capture == nil && !s.d.isPinned(src) {
		src = bytes.Clone(src)
	}
	s.add(func() error {
		to, err := s.d.view(dst, len(src))
		copy(to, src)
		return err
	})
	return nil
}

// CopyToHost implements driver.Stream.
func (s *stream) CopyToHost(dst []byte, src driver.Ptr) error {
	err := s.begin("copy to host")
	defer s.d.mu.Unlock()
	if err != nil || len(dst) == 0 {
		return err
	}
	if _, err := s.d.view(src, len(dst)); err != nil {
		return fmt.Errorf("copy to host: %w", err)
	}
	s.add(func() error {
		from, err := s.d.view(src, len(dst))
		copy(dst, from)
		return err
	})
	return nil
}

// CopyOnDevice implements driver.Stream.
func (s *stream) CopyOnDevice(dst, src driver.Ptr, n int) error {
	err := s.begin("copy on device")
	defer s.d.mu.Unlock()
	if err != nil || n == 0 {
		return err
	}
	run := func() error {
		to, err := s.d.view(dst, n)
		from, err2 := s.d.view(src, n)
		if err := errors.Join(err, err2); err != nil {
			return fmt.Errorf("copy on device: %w", err)
		}
		if uint64(dst)-uint64(src)+uint64(n)-1 < uint64(2*n-1) {
			return fmt.Errorf("copy on device: %d bytes from %#x to %#x overlap", n, src, dst)
		}
		copy(to, from)
		return nil
	}
	if _, err := s.d.view(dst, n); err != nil {
		return fmt.Errorf("copy on device: %w", err)
	}
	if _, err := s.d.view(src, n); err != nil {
		return fmt.Errorf("copy on device: %w", err)
	}
	s.add(run)
	return nil
}

// below returns the emulated device under any wrappers, or nil.
func below(d driver.Device) *device {
	switch w := d.(type) {
	case *device:
		return w
	case shipped:
		return below(w.Device)
	case interface{ Unwrap() driver.Device }:
		return below(w.Unwrap())
	}
	return nil
}

// CopyFromPeer implements driver.Stream. What the peer has not done yet is not copied.
func (s *stream) CopyFromPeer(dst driver.Ptr, peer driver.Device, src driver.Ptr, n int) error {
	p := below(peer)
	if p == nil || p == s.d {
		return fmt.Errorf("copy from peer: %T is no other emulated device", peer)
	}
	p.mu.Lock()
	from, err := p.view(src, n)
	p.mu.Unlock()
	if err != nil && n > 0 {
		return fmt.Errorf("copy from peer: %w", err)
	}
	err = s.begin("copy from peer")
	defer s.d.mu.Unlock()
	if err != nil || n == 0 {
		return err
	}
	if _, err := s.d.view(dst, n); err != nil {
		return fmt.Errorf("copy from peer: %w", err)
	}
	s.add(func() error {
		to, err := s.d.view(dst, n)
		copy(to, from)
		return err
	})
	return nil
}

// Memset implements driver.Stream.
func (s *stream) Memset(dst driver.Ptr, value byte, n int) error {
	err := s.begin("memset")
	defer s.d.mu.Unlock()
	if err != nil || n == 0 {
		return err
	}
	if _, err := s.d.view(dst, n); err != nil {
		return fmt.Errorf("memset: %w", err)
	}
	s.add(func() error {
		to, err := s.d.view(dst, n)
		for i := range to {
			to[i] = value
		}
		return err
	})
	return nil
}

// Launch implements driver.Stream.
func (s *stream) Launch(f driver.Function, grid, block driver.Dim, shared int, args []byte) error {
	err := s.begin("launch " + f.Name())
	defer s.d.mu.Unlock()
	if err != nil {
		return err
	}
	k, ok := f.(*function)
	if !ok || k.d != s.d {
		return fmt.Errorf("launch %s: the kernel is another device's", f.Name())
	}
	if err := k.check(grid, block, shared, args); err != nil {
		return err
	}
	l, err := host()
	if err != nil {
		return err
	}
	args = bytes.Clone(args)
	s.add(func() error { return s.d.explain(l.run(k, grid, block, shared, args, s.d.random.Uint64())) })
	return nil
}

// Synchronize implements driver.Stream. It also looks for writes past the ends of
// allocations.
func (s *stream) Synchronize() error {
	err := s.begin("synchronize")
	defer s.d.mu.Unlock()
	if err != nil {
		return err
	}
	if s.capture != nil {
		return errors.New("synchronize: the stream is capturing")
	}
	if n := len(s.queue); n > 0 {
		s.d.drain(s.queue[n-1])
	}
	if err := s.d.usable("synchronize"); err != nil {
		return err
	}
	return s.d.report(s.d.checkMemory())
}

// Destroy implements driver.Stream; its work is still done.
func (s *stream) Destroy() error {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if s.destroyed {
		return errors.New("destroy stream: it was destroyed before")
	}
	s.destroyed = true
	return nil
}
