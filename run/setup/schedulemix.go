package setup

import "github.com/chessbrain/chessbrain/internal/config"

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
