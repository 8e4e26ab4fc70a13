// Package memfs is an in-memory fsx.FS for tests that break things: the k-th
// operation fails with an error of choice, or the power goes at the k-th
// operation and only what was synced is sure to be there after it.
//
//	for k := 1; ; k++ {
//		m := memfs.New()
//		m.CutAt(k)
//		err := save(m) // acknowledged if nil
//		if !m.Tripped() {
//			break // save takes fewer than k operations
//		}
//		m.Restart(memfs.Random(seed))
//		check(m, err == nil)
//	}
//
// What a power cut may do (Restart): data written since the last Sync of its
// file is lost, or kept, or kept in part, or replaced by zeros; entries of a
// directory changed since its last SyncDir (created, renamed, removed) are
// undone from some point on. A rename inside one directory is never half done.
// A Sync that failed drops the written data for good, as Linux does: a second
// Sync returns nil and persists nothing of it.
//
// Recorder does the same to a whole command: it records what happens on the real disk, and
// the record is replayed here.
//
// Reads are operations too. Locks and permissions are not simulated. All
// methods are safe for concurrent use.
package memfs
