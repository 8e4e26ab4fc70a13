package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/internal/monitor"
)

// enoughEpisodes is below how many games a run is said to be too short to judge.
const enoughEpisodes = 100

// Summary says in a page of Markdown what the run did and what it learnt.
func Summary(d *Data) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	head := "# Run " + d.Job
	if d.Training != "" {
		head += ", training " + d.Training
	}
	say("%s\n", head)
	if games := cmp.Or(d.Loop, monitor.Count(d.Episodes, "episode")); d.Loop != "" || d.Episodes > 0 || d.Step == 0 { // of a data set there are none
		fmt.Fprint(&b, games+", ")
	}
	say("%s, %s trained on, %s skipped.", monitor.Count(d.Step, "step"), monitor.Count(d.Samples, "row"), monitor.Count(d.Skipped, "step"))
	if n := len(d.Runs); n > 0 {
		first, last := d.Runs[0], d.Runs[n-1]
		players := ""
		if first.ProducerDevice != "" {
			players = ", self-play on " + computing(first.ProducerDevice, "", first.ProducerPrecision)
		}
		say("Net %s, seed %d, device %s%s; from %s to %s, last state: %s.", first.Arch, first.Seed,
			computing(first.Device, first.Kernels, first.Precision), players, first.Time.Format("2006-01-02 15:04:05"), last.Time.Format("2006-01-02 15:04:05"), last.Phase)
	}
	if g := d.Results.Games(); g > 0 {
		say("\nGames: White won %d, drawn %d (%.0f %%), Black won %d. They ended by:", d.Results.White, d.Results.Draw, 100*d.Results.DrawShare(), d.Results.Black)
		for _, reason := range slices.Sorted(maps.Keys(d.Ends)) {
			say("* %s: %d", reason, d.Ends[reason])
		}
	}
	d.losses(say)
	for _, a := range d.Alarms {
		say("\nAlarm at step %d: %s (%s)", a.Step, a.Message, a.Code)
	}
	if d.Info.Unknown > 0 {
		say("\n%d events of types that this build does not know were left out.", d.Info.Unknown)
	}
	if d.Loop == "" && d.Episodes > 0 && d.Episodes < enoughEpisodes {
		say("\nThis is too short to judge: a run of fewer than %d games shows that the machinery works, not that the net learns.", enoughEpisodes)
	}
	return b.String()
}

// computing names a device, with the kernels and the precision where they are
// known: "cpu (avx512, bf16)".
func computing(device, kernels, precision string) string {
	known := slices.DeleteFunc([]string{kernels, precision}, func(word string) bool { return word == "" })
	if len(known) == 0 {
		return device
	}
	return device + " (" + strings.Join(known, ", ") + ")"
}

// losses prints a table of each loss at the start and at the end: on the
// validation games where there are any, else in training.
func (d *Data) losses(say func(string, ...any)) {
	first, head := d.FirstVal, ""
	if d.Untrained != nil && d.LastVal != nil && d.Untrained.Rows == d.LastVal.Rows {
		first, head = d.Untrained, "untrained"
	} else if first != nil {
		head = fmt.Sprintf("step %d (%d positions)", first.Step, first.Rows)
	}
	if first != nil && d.LastVal != nil && (first == d.Untrained || first.Step < d.LastVal.Step) {
		say("\n| on held-out games | %s | step %d (%d positions) | change | in standard errors |\n|---|---|---|---|---|", head, d.LastVal.Step, d.LastVal.Rows)
		for _, name := range d.LastVal.Losses.Names() {
			from, to := float64(first.Losses[name]), float64(d.LastVal.Losses[name])
			if math.IsNaN(from) && math.IsNaN(to) || name == "l2_loss" {
				continue // no row had a target, or it is of the weights
			}
			say("| %s | %.4f | %.4f | %+.4f | %s |", name, from, to, to-from, sigmas(first, d.LastVal, name))
		}
		if legal := float64(d.LastVal.LegalEntropy); legal > 0 {
			say("\nThe policy loss of a net that knows nothing but the rules is %.4f.", legal)
		}
		return
	}
	say("\n| in training | first steps | last steps | change |\n|---|---|---|---|")
	for _, tag := range d.Tags("train/") {
		if points := d.Curves[tag]; strings.HasSuffix(tag, "loss") && len(points) > 0 {
			from, to := mean(points[:(len(points)+9)/10]), mean(points[len(points)-(len(points)+9)/10:])
			say("| %s | %.4f | %.4f | %+.4f |", strings.TrimPrefix(tag, "train/"), from, to, to-from)
		}
	}
}

// sigmas is a change in units of its standard error, taking the two means as
// independent.
func sigmas(a, b *monitor.Validation, name string) string {
	e := math.Hypot(float64(a.StdErrs[name]), float64(b.StdErrs[name]))
	if !(e > 0) {
		return "-"
	}
	return fmt.Sprintf("%+.1f", float64(b.Losses[name]-a.Losses[name])/e)
}

func mean(points []Point) float64 {
	var sum float64
	for _, p := range points {
		sum += p.Y
	}
	return sum / float64(len(points))
}
