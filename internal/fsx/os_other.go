//go:build unix && !linux

package fsx

import "os"

// syncData is a full fsync where the system has no fdatasync.
func syncData(f *os.File) error { return f.Sync() }
