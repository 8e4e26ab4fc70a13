package bench

import (
	"fmt"
	"io"
)

// write prints the conditions.
func (l *PlayLabels) write(w io.Writer) {
	fmt.Fprintf(w, "%s evaluator", l.Evaluator)
	if l.Net != "" {
		fmt.Fprintf(w, ", %s %s, %s", l.Net, l.Precision, l.Tier)
	}
	fmt.Fprintf(w, ": %d visits, %d games in lock step, %d worker", l.Simulations, l.Games, l.Workers)
	if l.Workers > 1 {
		fmt.Fprint(w, "s")
	}
	if l.Pools > 1 {
		fmt.Fprintf(w, ", %d pools", l.Pools)
	}
	fmt.Fprintf(w, ", cache of %d\n", l.CacheEntries)
}

// Write prints the result for a person.
func (r SearchResult) Write(w io.Writer) error {
	r.PlayLabels.write(w)
	all := float64(max(r.Nodes+r.Cached+r.Terminal, 1))
	_, err := fmt.Fprintf(w, "  nodes        %9.0f per CPU-second (median of windows, %.0f to %.0f), evaluator %.1f %% of the time\n"+
		"  simulations  %9.0f: %.1f %% nodes, %.1f %% cached, %.1f %% terminal; mean depth %.2f plies\n"+
		"  moves        %9.1f (%d in %.2f CPU-seconds, %.2f s)\n",
		r.NodesPerCPUSecond, r.SlowestWindow, r.FastestWindow, 100*r.EvaluatorShare,
		r.SimulationsPerCPUSecond, 100*float64(r.Nodes)/all, 100*float64(r.Cached)/all, 100*float64(r.Terminal)/all, r.MeanDepth,
		r.MovesPerCPUSecond, r.Moves, r.CPUSeconds, r.Seconds)
	return err
}

// Write prints the result for a person.
func (r SelfPlayResult) Write(w io.Writer) error {
	r.PlayLabels.write(w)
	fmt.Fprintf(w, "  moves        %9.1f per CPU-second, %.1f per second (%d in %.2f CPU-seconds, %.2f s)\n"+
		"  evaluations  %9.0f new, %.1f a move, mean batch %.1f, cache hits %.1f %%\n"+
		"  time         %8.1f %% in the tree, %.1f %% in the evaluator\n",
		r.MovesPerCPUSecond, r.PositionsPerSecond, r.Moves, r.CPUSeconds, r.Seconds,
		r.EvaluationsPerCPUSecond, r.EvaluationsPerMove, r.MeanBatch, 100*r.CacheHits,
		100*(1-r.EvaluatorShare), 100*r.EvaluatorShare)
	if r.Ratio == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "  inference    %9.0f in the windows between; self-play reaches %.3f of it (median, %.3f to %.3f)\n",
		r.InferencePerCPUSecond, r.Ratio, r.RatioLow, r.RatioHigh)
	return err
}

// Write prints the result for a person.
func (r *LoaderResult) Write(w io.Writer) error {
	from := "read each time"
	if r.Source == "store" {
		from = "transcoded once"
	}
	fmt.Fprintf(w, "%s from %s, %s: %d chunks of %.1f positions\n", r.Mode, r.Files, from, r.Chunks, r.PliesPerChunk)
	fmt.Fprintf(w, "  positions %12.0f per %s-second (%.0f to %.0f); %.0f with float32 planes\n",
		r.RowsPerCPUSecond, r.Clock, r.SlowestWindow, r.FastestWindow, r.PlanesPerSecond)
	if r.StoreBytes > 0 {
		fmt.Fprintf(w, "  store     %12.0f bytes a position; filled at %.0f positions per %s-second\n", r.StoreBytes, r.StartRate, r.Clock)
	}
	if r.ReservoirBytes > 0 {
		fmt.Fprintf(w, "  reservoir %12.0f bytes a position\n", r.ReservoirBytes)
	}
	fmt.Fprintf(w, "  heap      %12.0f bytes for each position held\n", r.HeapBytes)
	if r.Quarantined > 0 {
		fmt.Fprintf(w, "  quarantined %10d files or chunks: see test-dataloader\n", r.Quarantined)
	}
	return nil
}

// Text says for a person how far the answers of the net called name are apart in
// positions that are from somewhere.
func (r *PrecisionReport) Text(name, from string) string {
	accepted := "no"
	if r.Accepted {
		accepted = "yes"
	}
	return fmt.Sprintf("%s (%s), %d positions from %s, %s kernels, bf16 against fp32:\n"+
		"same best move      %8.2f %% of %d positions with a choice (want %.0f %%)\n"+
		"value difference    %8.5f mean (want %.3f at most), %.5f largest\n"+
		"policy KL           %8.2g nats mean\n"+
		"accepted            %8s\n",
		name, r.Net, r.Positions, from, r.Tier,
		100*r.Top1Agreement, r.Choices, 100*MinTop1Agreement,
		r.MeanValueDifference, MaxMeanValueDifference, r.MaxValueDifference,
		r.PolicyKL, accepted)
}

// Write prints the result for a person, below a line that names the rescorer.
func (s *PluginResult) Write(w io.Writer) error {
	fmt.Fprintf(w, ": calls of %.1f games, %.0f bytes a row, %d under way\n", s.GamesPerCall, s.BytesPerRow, s.Callers)
	fmt.Fprintf(w, "  stream  %8.1f MB/s (10^6 bytes of games to the plugin)\n", s.BytesPerSecond/1e6)
	fmt.Fprintf(w, "  rows    %8.0f per second (%.0f to %.0f), %.0f games per second\n", s.RowsPerSecond, s.SlowestWindow, s.FastestWindow, s.GamesPerSecond)
	fmt.Fprintf(w, "  latency %8.2f ms of a call, mean\n", 1e3*s.LatencySeconds)
	_, err := fmt.Fprintf(w, "  CPU     %8.2f s here and %.2f s in the plugin for %d rows in %.2f s\n", s.HostCPUSeconds, s.PluginCPUSeconds, s.Rows, s.WallSeconds)
	return err
}
