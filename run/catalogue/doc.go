// Package catalogue is the index of a run: its nets, the matches that they played,
// their ratings, and the files that were published, in one JSON file that other
// programs can read, too:
//
//	jq -r '.ratings[] | [.name, .elo, .error] | @tsv' runs/chessbrain/catalogue.json
//
// Every fact in it stands in another file of the run as well (docs/RUN.md), so the
// catalogue can be removed or rebuilt at any time. For that reason it is written as a
// whole and takes the place of the old file with one durable rename. A reader sees
// the old or the new one, also over a network file system. Two writers do no harm:
// the later one stays.
//
//	c, err := catalogue.Read(fsx.OS, "runs/chessbrain/catalogue.json")
//	if errors.Is(err, catalogue.ErrOther) || errors.Is(err, fs.ErrNotExist) {
//		// make it anew from the run's files (package run/ratings)
//	}
//	wrote, err := c.Write(fsx.OS, "runs/chessbrain/catalogue.json")
package catalogue
