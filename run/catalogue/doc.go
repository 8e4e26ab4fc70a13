// Package catalogue is the index of a run: its nets, the matches that they played,
// their ratings, and the files that were published, in one sqlite file that other
// programs can read, too:
//
//	sqlite3 runs/chessbrain/catalogue.sqlite "SELECT name, elo, error FROM ratings ORDER BY elo DESC"
//
// Every fact in it stands in another file of the run as well (docs/RUN.md), so the
// catalogue can be removed or rebuilt at any time. For that reason it is written as a
// whole: the database is made in memory and takes the place of the old file with
// one durable rename. A reader sees the old or the new one, also over a network file
// system, and there is no journal beside it. Two writers do no harm: the later one
// stays.
//
//	c, err := catalogue.Read(fsx.OS, "runs/chessbrain/catalogue.sqlite")
//	if errors.Is(err, catalogue.ErrOther) || errors.Is(err, fs.ErrNotExist) {
//		// make it anew from the run's files (package loop/ratings)
//	}
//	wrote, err := c.Write(fsx.OS, "runs/chessbrain/catalogue.sqlite")
package catalogue
