package setup

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
)

// refusals returns what adds a bad setting to errs.
func refusals(e *config.Effective, errs *[]error) func(bad bool, field, remedy, reason string) {
	return func(bad bool, field, remedy, reason string) {
		if bad {
			*errs = append(*errs, e.Errorf(field, remedy, "%s", reason))
		}
	}
}

// CheckConfig refuses what this build would otherwise ignore: settings whose
// code comes later, and settings that contradict each other. Its errors have
// exit code 2.
func CheckConfig(e *config.Effective) error {
	c := e.Config
	t := c.GetTraining()
	var errs []error
	refuse := refusals(e, &errs)
	refuse(c.GetMcts().GetLeavesPerGame() > 1, "mcts.leaves_per_game", "leave it at 1; more games per worker make larger batches", "not in this build")
	refuse(c.GetDeterministic() && c.GetMcts().GetCacheHistory() < encoding.HistoryLen-1, "mcts.cache_history", "leave it away",
		"with it games depend on what a cache holds, which a restart empties; a deterministic run's do not")
	if t.GetSource() == config.Training_SELFPLAY {
		refuse(t.GetSteps() > 0, "training.steps", "leave it away; selfplay.episodes says how long a run is", "has no meaning with source SELFPLAY")
		refuse(t.GetSourceDir() != "", "training.source_dir", "leave it away, or use source DIR", "has no meaning with source SELFPLAY")
	} else {
		refuse(c.GetDeterministic(), "deterministic", "use source SELFPLAY", "games of other processes come at any time")
	}
	refuse(len(c.GetDataLoader().GetStage()) > 0 && t.GetSource() != config.Training_LOADER, "data_loader",
		"use source LOADER, or leave the section away", "has no meaning with source "+t.GetSource().String())
	refuse(t.GetSourceDir() != "" && t.GetSource() == config.Training_LOADER, "training.source_dir",
		"name it as data, or in a stage file_path_provider", "has no meaning with source LOADER")
	refuse(t.GetEpochs() > 1 && t.GetData() == "", "training.epochs", "name the games with data (--data)", "has no meaning without training.data")
	if t.GetData() != "" {
		refuse(t.GetSource() != config.Training_LOADER, "training.data", "leave one of the two away; a run keeps the source that it was begun with", "has no meaning with source "+t.GetSource().String())
		refuse(len(c.GetDataLoader().GetStage()) > 0, "training.data", "leave one of the two away", "takes the place of the section data_loader")
		if _, err := dataFiles(t.GetData()); err != nil {
			errs = append(errs, e.Errorf("training.data", "name a PGN file, a .tar of Leela's, or a directory of these, of Leela's chunks or of game files", "%v", err))
		}
	}
	refuse(t.GetSource() == config.Training_LOADER && ahead(c), "training.losses",
		"leave them away, or take source SELFPLAY, DIR or SHUFFLED", "rows of source LOADER have no targets for auxiliary losses and the head opponent")
	_, err := losses(t.GetLosses())
	if bad, ok := errors.AsType[*config.Error](err); ok {
		refuse(true, bad.Field, bad.Remedy, bad.Reason)
	}
	refuse(fsx.IsFile(t.GetSourceDir()), "training.source_dir", "name a directory", "it is a file")
	checkMeasures(c, refuse)
	x := c.GetExport()
	if c.GetModel().GetArch().GetSparse() != nil {
		refuse(slices.Contains(towerExporters, x.GetExporter()), "export.exporter", "use safetensors, or take a tower such as --net 64x6",
			"Leela's formats hold towers, and this net is sparse")
		refuse(further(c), "training.losses", "leave head_name, VALUE_ERROR and VALUE_CATEGORICAL away, or take a tower such as --net 64x6", "a sparse net has no further heads and no forecasts")
	}
	arch := c.GetModel().GetArch()
	refuse(arch.GetAttention() != nil && arch.GetPolicyHead() != config.Arch_ATTENTION && x.GetExporter() == "lc0", "model.arch.policy_head",
		"take ATTENTION, or another exporter", "Leela's files of attention nets have an attention policy")
	refuse(x.GetWeights() == config.Export_SWA && t.GetSwa().GetPeriod() == 0, "export.weights",
		"set training.swa.period, or take RAW", "there is no average to export")
	base := filepath.Base(filepath.FromSlash(x.GetPath()))
	refuse(strings.HasSuffix(x.GetPath(), "/") || strings.HasPrefix(base, "."), "export.path", "end it with a file name that begins with a letter", "names no file")
	return errors.Join(errs...)
}

// towerExporters write formats that hold towers alone.
var towerExporters = []string{"lc0", "onnx"}

// TakesSparse says whether a configuration that names no net can train a sparse one.
func TakesSparse(e *config.Effective) bool {
	named := e.Config.GetModel().GetNet() != "" ||
		slices.ContainsFunc(archFields, func(field string) bool { return e.Origin("model.arch."+field) != "default" })
	return !named && !further(e.Config) && TrainerDevice(e.Config).isCPU() && PlayerDevice(e.Config).isCPU() && !slices.Contains(towerExporters, e.Config.GetExport().GetExporter())
}

// CheckTrains refuses what only a process without a trainer can do, and a pace that the source cannot honour.
func CheckTrains(e *config.Effective) error {
	var errs []error
	refuse := refusals(e, &errs)
	s, remedy := e.Config.GetSelfplay(), "it is for chessbrain selfplay; train with --source dir beside it"
	refuse(s.GetModelsDir() != "", "selfplay.models_dir", remedy, "train plays with its own net")
	refuse(s.GetOutputDir() != "", "selfplay.output_dir", remedy, "train writes its games into the run directory")
	t, f := e.Config.GetTraining(), s.GetForks()
	refuse(t.GetSource() == config.Training_SELFPLAY && (f.GetEarly() > 0 || f.GetLate() > 0 || f.GetSidePositions() > 0),
		"selfplay.forks", remedy, "train counts its games as episodes, and forks have no number of their own")
	checkPace(t, refuse)
	return errors.Join(errs...)
}

// checkPace refuses settings of the training's pace that its source cannot honour.
func checkPace(t *config.Training, refuse func(bad bool, field, remedy, reason string)) {
	shuffled, epochs := t.GetSource() == config.Training_SHUFFLED, t.GetSamplesPerEpoch() > 0
	source := "has no meaning with source " + t.GetSource().String()
	for _, s := range []struct {
		set   bool
		field string
	}{
		{t.GetBucket().GetPerNewRow() > 0, "training.bucket.per_new_row"}, {t.GetBucket().GetStopWhenLimited(), "training.bucket.stop_when_limited"},
		{t.GetNoRepeatFiles(), "training.no_repeat_files"},
		{t.GetMaxEpochsThisInstance() > 0 && t.GetSchedule().GetStepsPerNetwork() == 0, "training.max_epochs_this_instance"}, // a schedule's nets are its epochs
	} {
		refuse(s.set && !shuffled, s.field, "use source SHUFFLED, or leave it away", source)
		refuse(s.set && shuffled && !epochs, s.field, "set training.samples_per_epoch (KataGo's default is 1000000)", "has no meaning without epochs")
	}
	refuse(epochs && !shuffled, "training.samples_per_epoch", "use source SHUFFLED, or leave it away", source)
	refuse(t.GetQuitIfNoData() && !shuffled, "training.quit_if_no_data", "use source SHUFFLED, or leave it away", source)
	refuse(t.GetBucket().GetStopWhenLimited() && t.GetBucket().GetPerNewRow() == 0, "training.bucket.stop_when_limited",
		"set training.bucket.per_new_row, or leave it away", "a bucket without a limit never limits")
	s := t.GetSchedule()
	refuse(s.GetStepsPerNetwork() > 0 && t.GetSource() != config.Training_LOADER, "training.schedule.steps_per_network",
		"use source LOADER, or leave it away", source)
	refuse(s.GetChunksPerNetwork() > 0 && s.GetStepsPerNetwork() == 0, "training.schedule.chunks_per_network",
		"set training.schedule.steps_per_network", "has no meaning without steps_per_network")
}

// MixedSchedule returns what in the data loader belongs to the other kind of
// learning than the schedule: reinforcement learning waits for new chunks and
// trains on a window of the newest, supervised learning on all there are. Each is
// a warning in words; a configuration without schedule has none.
func MixedSchedule(c *config.Config) (warnings []string) {
	schedule := c.GetTraining().GetSchedule()
	if schedule.GetStepsPerNetwork() == 0 {
		return nil
	}
	watched, hanse, reservoir, ends := false, "", "", ""
	for _, s := range c.GetDataLoader().GetStage() {
		watched = watched || s.GetFilePathProvider().GetWatch() && s.FilePathProvider != nil
		if s.GetShufflingChunkPool().GetHanseSampling() {
			hanse = s.GetName()
		}
		if s.GetShufflingChunkPool().GetEpochs() > 0 {
			ends = s.GetName()
		}
		if s.ShufflingFrameSampler != nil {
			reservoir = s.GetName()
		}
	}
	if schedule.GetChunksPerNetwork() == 0 {
		if hanse != "" {
			warnings = append(warnings, "supervised learning (chunks_per_network 0) with hanse_sampling in stage "+hanse+
				": it takes one position of each game at a time, for a window of new games; position_sampling_rate with a shuffling_frame_sampler reads each game once (configs/sl.textproto)")
		}
		return warnings
	}
	if !watched {
		warnings = append(warnings, "reinforcement learning (chunks_per_network) without a file_path_provider that watches: no new chunks will come, and training ends when those there are have been used")
	}
	if ends != "" {
		warnings = append(warnings, "reinforcement learning (chunks_per_network) with epochs in stage "+ends+": the data end there; leave epochs away")
	}
	if reservoir != "" {
		warnings = append(warnings, "reinforcement learning (chunks_per_network) with a shuffling_frame_sampler, stage "+reservoir+
			": its reservoir keeps positions of games that have left the window; hanse_sampling in the pool does without (configs/rl.textproto)")
	}
	return warnings
}
