package monitor

// Phases of a Run event.
const (
	RunStart   = "start"   // a new run begins
	RunResume  = "resume"  // a run goes on from a checkpoint
	RunStopped = "stopped" // interrupted, saved
	RunDone    = "done"    // all that was asked for is done
	RunFailed  = "failed"
)

// Run says that a run starts, goes on or ends.
type Run struct {
	Header
	Phase             string `json:"phase"`
	Command           string `json:"command,omitempty"`
	Version           string `json:"version,omitempty"`     // of the program
	ConfigHash        string `json:"config_hash,omitempty"` // SHA-256 of the effective configuration
	Seed              uint64 `json:"seed"`
	Device            string `json:"device,omitempty"`             // of the trainer, resolved
	ProducerDevice    string `json:"producer_device,omitempty"`    // of self-play, resolved
	Kernels           string `json:"kernels,omitempty"`            // CPU tier
	Precision         string `json:"precision,omitempty"`          // of the trainer's products: fp32, bf16
	ProducerPrecision string `json:"producer_precision,omitempty"` // of self-play's
	Arch              string `json:"arch,omitempty"`
	Params            int64  `json:"params,omitempty"` // numbers in the net
	EffectiveBatch    int    `json:"effective_batch,omitempty"`
	Step              int64  `json:"step"`              // optimizer steps done
	Episode           int64  `json:"episode"`           // episodes done
	Episodes          int64  `json:"episodes"`          // episodes asked for in all; 0 = no such limit
	Message           string `json:"message,omitempty"` // reason of the end, or a summary
}

// ends reports whether the run is at work no more.
func (e *Run) ends() bool { return e.Phase != RunStart && e.Phase != RunResume }

// Stage says that a stage of the work (shuffle, export, ...) changed its state.
type Stage struct {
	Header
	Name    string `json:"name"`
	State   string `json:"state"` // started, finished, failed
	Seconds Number `json:"seconds,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// Totals are counts since the process started.
type Totals struct {
	Games       int64 `json:"games"`
	Positions   int64 `json:"positions"`   // moves played
	Evaluations int64 `json:"evaluations"` // positions that went through the net
	Batches     int64 `json:"batches"`     // calls of the net
	CacheHits   int64 `json:"cache_hits"`
	CacheProbes int64 `json:"cache_probes"`
	Steps       int64 `json:"steps"` // optimizer steps
	Rows        int64 `json:"rows"`  // rows trained on
}

// Rates are what Totals grew by in the last seconds (see Meter).
type Rates struct {
	GamesPerSecond       Number `json:"games_s"`
	PositionsPerSecond   Number `json:"positions_s"`
	EvaluationsPerSecond Number `json:"evaluations_s"`
	StepsPerSecond       Number `json:"steps_s"`
	RowsPerSecond        Number `json:"rows_s"`
	MeanBatch            Number `json:"mean_batch"`     // positions a call of the net
	CacheHitShare        Number `json:"cache_hit_rate"` // of probes, [0,1]
}

// Results counts finished games of the run, from White's side.
type Results struct {
	White int64 `json:"white"` // won by White
	Draw  int64 `json:"draw"`
	Black int64 `json:"black"`
}

// Games is the number of games counted.
func (r Results) Games() int64 { return r.White + r.Draw + r.Black }

// DrawShare is the share of draws, [0,1]; 0 without games.
func (r Results) DrawShare() float64 {
	if r.Games() == 0 {
		return 0
	}
	return float64(r.Draw) / float64(r.Games())
}

// Episode is one game that was counted: durable and in the window or the
// validation set.
type Episode struct {
	Header
	Episode     int64            `json:"episode"` // 1 = the run's first
	Episodes    int64            `json:"episodes"`
	Step        int64            `json:"step"` // optimizer steps done before it
	GameID      string           `json:"game_id,omitempty"`
	NetID       string           `json:"net_id,omitempty"` // net that played it (the first, if it changed)
	Plies       int              `json:"plies"`
	End         string           `json:"end"`          // record.EndReason in words
	WhiteResult int              `json:"white_result"` // +1, 0, -1
	Validation  bool             `json:"validation,omitempty"`
	Results     Results          `json:"results"`     // of the run so far, this game included
	Ends        map[string]int64 `json:"ends"`        // end reasons of the run so far
	MeanPlies   Number           `json:"mean_plies"`  // of the last games
	DrawShare   Number           `json:"draw_share"`  // of the last games, [0,1]
	QueueDepth  int              `json:"queue_depth"` // durable games that wait for the trainer
	WindowGames int64            `json:"window_games"`
	WindowRows  int64            `json:"window_rows"`

	ResignTested int64 `json:"resign_tested,omitempty"` // games played on after a would-be resignation
	ResignFalse  int64 `json:"resign_false,omitempty"`  // those that did not end in a loss

	Totals Totals `json:"totals"`
	Rates  Rates  `json:"rates"`
}

// Step is one optimizer step.
type Step struct {
	Header
	Step          int64   `json:"step"`            // 1 = the first
	Steps         int64   `json:"steps,omitempty"` // at which the training ends, as far as it can be told; 0 = it cannot
	Episode       int64   `json:"episode"`         // episodes counted before it
	Samples       int64   `json:"samples"`         // rows trained on so far, in all
	Entered       int64   `json:"entered"`         // positions of games that have entered the run so far
	Rows          int     `json:"rows"`            // of this step, over all micro-batches
	Losses        Numbers `json:"losses"`          // by metric name, means over rows
	Loss          Number  `json:"loss"`            // the objective: the weighted sum
	PolicyEntropy Number  `json:"policy_entropy"`
	TargetEntropy Number  `json:"target_entropy,omitempty"` // of the policy targets: the floor of the policy loss
	LegalEntropy  Number  `json:"legal_entropy,omitempty"`  // mean ln(number of legal moves): what knowing nothing costs
	PolicyAcc     Number  `json:"policy_accuracy"`          // share of rows whose best move is the target's best
	ValueAcc      Number  `json:"value_accuracy,omitempty"` // share of rows whose likeliest result is the game's
	LR            Number  `json:"lr"`
	GradNorm      Number  `json:"grad_norm"` // before clipping
	Clipped       bool    `json:"clipped,omitempty"`
	LossScale     Number  `json:"loss_scale"`
	Skipped       bool    `json:"skipped,omitempty"` // losses or gradients were not finite; the weights did not change
	SkippedTotal  int64   `json:"skipped_total"`
	Seconds       Number  `json:"seconds"` // that the step took
	QueueDepth    int     `json:"queue_depth"`
	WindowRows    int64   `json:"window_rows"`
	Totals        Totals  `json:"totals"`
	Rates         Rates   `json:"rates"`
}

// Whose weights a Validation event measured.
const (
	WeightsRaw       = "raw"
	WeightsSWA       = "swa"
	WeightsUntrained = "untrained" // those that the run began with, measured at its end on the rows of the raw event that follows
)

// Validation holds the losses on games that are never trained on.
type Validation struct {
	Header
	Step          int64   `json:"step"`
	Episode       int64   `json:"episode"`
	Weights       string  `json:"weights"` // WeightsRaw, WeightsSWA or WeightsUntrained
	Rows          int     `json:"rows"`
	Games         int     `json:"games,omitempty"`
	Losses        Numbers `json:"losses"`
	StdErrs       Numbers `json:"std_errs,omitempty"` // standard error of each mean
	PolicyEntropy Number  `json:"policy_entropy"`
	TargetEntropy Number  `json:"target_entropy,omitempty"`
	LegalEntropy  Number  `json:"legal_entropy,omitempty"`
	PolicyAcc     Number  `json:"policy_accuracy"`
	ValueAcc      Number  `json:"value_accuracy,omitempty"`
}

// Measure holds the losses of a measurement that the configuration names.
type Measure struct {
	Validation
	Name string `json:"name"`
}

// SelfPlay is the state of a process that only plays.
type SelfPlay struct {
	Header
	Process string `json:"process"`
	NetID   string `json:"net_id"`           // that plays now
	Games   int64  `json:"games"`            // on disk, those of earlier starts included
	Wanted  int64  `json:"wanted,omitempty"` // games at which it ends; 0 = none
	Totals  Totals `json:"totals"`
	Rates   Rates  `json:"rates"`

	VisitsPerSecond Number           `json:"visits_s"`      // new root visits
	TreeShare       Number           `json:"tree_share"`    // of the workers' time, [0,1]: tree work and records
	NetworkShare    Number           `json:"network_share"` // of the workers' time, [0,1]: in the evaluator
	Results         Results          `json:"results"`       // of this process's games since it started
	Ends            map[string]int64 `json:"ends"`
	MeanPlies       Number           `json:"mean_plies"`
	ResignTested    int64            `json:"resign_tested"` // games played on after a would-be resignation
	ResignFalse     int64            `json:"resign_false"`  // those that did not end in a loss
}

// What happened to a net.
const (
	NetLoaded     = "loaded" // players use it from now on
	NetCheckpoint = "checkpoint"
	NetExported   = "exported"
	NetPublished  = "published"
	NetRejected   = "rejected"
)

// Net says what happened to a net, or to a checkpoint of it.
type Net struct {
	Header
	Action  string `json:"action"`
	NetID   string `json:"net_id,omitempty"`
	Path    string `json:"path,omitempty"`
	Step    int64  `json:"step"`
	Episode int64  `json:"episode"`
	Samples int64  `json:"samples"`
	Seconds Number `json:"seconds,omitempty"`
}

// Gate is the state or the end of a match between a candidate and the accepted
// net, from the candidate's side.
type Gate struct {
	Header
	Candidate string `json:"candidate"`
	Baseline  string `json:"baseline"`
	Wins      int    `json:"wins"`
	Draws     int    `json:"draws"`
	Losses    int    `json:"losses"`
	Wanted    int    `json:"wanted,omitempty"` // games of the whole match
	Elo       Number `json:"elo"`
	EloErr    Number `json:"elo_err"`
	Verdict   string `json:"verdict"` // "running", "accepted", "rejected"
}

// Alarm is something that a person should look at.
type Alarm struct {
	Header
	Code     string `json:"code"`     // stable, for programs: "disk_low", "non_finite", ...
	Severity string `json:"severity"` // "warning" or "error"
	Message  string `json:"message"`
	Remedy   string `json:"remedy,omitempty"`
	Step     int64  `json:"step"`
	Episode  int64  `json:"episode"`
}

// States of a Plugin event beside those that the host of plugins gives.
const (
	PluginSwapped = "swapped" // other stages took the place of those of this kind; Name may hold several
	PluginRunning = "running" // no change: the event reports numbers
)

// Plugin is a change in a plugin's life or, every few seconds, what it did so
// far.
type Plugin struct {
	Header
	Name   string `json:"name"`
	Kind   string `json:"kind"`  // rescorer, sampler, exporter
	State  string `json:"state"` // started, stopped, failed, replaced, quarantined, swapped, running
	Detail string `json:"detail,omitempty"`
	PluginNumbers
}

// PluginNumbers is what a plugin did since this process uses it.
type PluginNumbers struct {
	Version       string `json:"version,omitempty"`
	PID           int64  `json:"pid,omitempty"` // 0 = no process now
	Calls         int64  `json:"calls,omitempty"`
	Games         int64  `json:"games,omitempty"`           // of a rescorer
	Rows          int64  `json:"rows,omitempty"`            // positions of the games, or rows drawn
	Bytes         int64  `json:"bytes,omitempty"`           // of games sent, about, or of files written
	Seconds       Number `json:"seconds,omitempty"`         // in which it worked on calls
	RowsPerSecond Number `json:"rows_s,omitempty"`          // Rows / Seconds
	MeanLatency   Number `json:"latency_seconds,omitempty"` // Seconds / Calls
	Restarts      int64  `json:"restarts,omitempty"`
	Quarantined   int64  `json:"quarantined,omitempty"` // games that killed it
}
