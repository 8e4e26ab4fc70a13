// Package host makes the stages that a run uses: built-in ones in this process,
// and plugins, which are programs that it finds, checks, starts and watches. Who
// asks for a stage does not see the difference.
//
//	h, err := host.New(host.Options{Builtin: definitions, Dirs: host.Dirs(named),
//		LockFiles: []string{filepath.Join(runDir, "plugins.lock")}})
//	defer h.Close()
//	r, err := h.Rescorer(ctx, stage.Choice{Name: "deblunder"})
//	games, err := r.(stage.BatchRescorer).RescoreBatch(ctx, games)
//
// A program is found by its file name in directories that the user names (Dirs,
// Discover), where nobody else can write. Each start hashes it, holds the hash against the lock files that there are, copies
// it to a directory that only this user can enter, hashes the copy and executes
// that: nobody changes a file between the check and the start. It gets a clean
// environment, no input, a process group of its own and a Unix socket in a
// private directory. On Linux it dies with the host, however the host dies.
//
// Every call has a deadline and every answer is checked. A process that dies,
// hangs or answers wrongly is killed and replaced after a pause that doubles from
// 0.1 s to 10 s; too many failures in a row and the plugin is given up. Rescorers
// lose and double no game by that: batches without an answer are sent again one
// at a time, and games that kill the plugin alone are quarantined and go on as
// they are. A sampler goes on from its last state, over the same index, with the
// same draw.
//
// Errors of plugins are of type *Error and say which plugin did what. A plugin
// runs with the rights of the user: the lock file keeps out programs that were
// swapped, not programs that were trusted by mistake.
package host
