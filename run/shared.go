package run

import "sync"

// Shared is a value that one goroutine changes and others read, such as the page
// that a control socket answers with. The zero value holds a zero T. What the value
// points to is replaced, never changed.
type Shared[T any] struct {
	mu    sync.Mutex
	value T
}

// Set changes the value; change must not call Set or Get.
func (s *Shared[T]) Set(change func(*T)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.value)
}

// Get returns a copy of the value.
func (s *Shared[T]) Get() T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value
}
