// Package files rescores data on disk: chunks of games (*.games) and Leela's
// chunks (*.gz, and *.tar of them), each into a file of the same kind and name
// elsewhere.
//
//	jobs, err := files.Plan([]string{"selfplay", "old.tar"}, "rescored")
//	r := files.Run{FS: fsx.OS, Rescorer: chain}
//	for _, job := range jobs {
//		err = r.Do(ctx, job)
//	}
//	fmt.Println(r.Report.Results) // and what else changed
//
// An input is never written to and an output appears whole under its name. What
// is damaged costs a block, a game or a member of a tar; it is named in the
// report and the rest goes on.
package files
