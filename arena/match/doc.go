// Package match turns what a person says of a match into one: players, limits,
// openings and rules as words, the log from which a stopped match goes on, and
// the report at its end. [arena] plays it.
//
//	o := match.Options{Specs: [2]string{"runs/a", "greedy"}, Games: 200, ..., OpenNet: open}
//	o.Flags = match.NewFlags(bind)
//	m, err := match.New(&o)
//	if err != nil {
//		return err
//	}
//	defer m.Close()
//	err = errors.Join(m.ReadOpenings(), m.OpenLog())
//	...
//	report, err := m.Play(ctx)
//
// An error about what was asked for has the exit code 2 of a usage error. Nets
// come from the caller, by [Options].OpenNet: this package knows no run directory
// and no device.
package match
