// Package fsx holds everything that makes files last: durable whole files and
// directories, append files, locks, free space. All of it goes through FS, a
// seam that tests can break (package memfs).
//
// There are two ways to write. A whole file or directory appears under its
// final name only when it is complete and on stable storage:
//
//	err := fsx.WriteFile(fsx.OS, "run/run.json", data)
//	err = fsx.WriteDir(fsx.OS, "checkpoints/job_step00000010", func(tmp string) error {
//		return os.WriteFile(filepath.Join(tmp, "weights"), weights, 0o666)
//	})
//
// An append file grows; what was written before a Sync that returned nil stays:
//
//	f, err := fsx.OpenAppend(fsx.OS, "run/journal")
//	_, err = f.Write(line)
//	err = f.Sync()
//
// A failed fsync is reported as ErrSync. It is fatal: the kernel may have
// dropped the data and a second fsync would lie, so the process must stop.
package fsx
