// Package loader brings games from files to training batches through a graph of
// stages, each with a goroutine of its own, joined by queues. It is for data
// that come as files, our own (*.games) or Leela's (.gz, .tar), in any number;
// for a run's own games in memory there is replay.Window.
//
//	file_path_provider      -> names    finds files, once each
//	chunk_source_reader     -> sources  opens them
//	chunk_source_splitter   -> sources  deals chunks to training and validation
//	shuffling_chunk_pool    -> chunks   the newest, in random order
//	simple_chunk_extractor  -> chunks   all, in order
//	chunk_rescorer          -> chunks
//	plugin                  -> chunks   through a rescorer in batches
//	chunk_unpacker          -> frames   takes positions out
//	shuffling_frame_sampler -> frames   mixes them in a reservoir
//	join_positions          -> frames   merges several inputs
//	tensor_generator        -> batches
//
// A Loader is a trainer.BatchSource:
//
//	l, err := loader.New(config, loader.Options{Seed: 7}) // errors.Join of *ConfigError
//	defer l.Close()
//	err = l.WaitForChunks(ctx, chunksPerNetwork, nil)     // reinforcement learning
//	err = l.Next(ctx, batch)                              // io.EOF: supervised, all data were handed out
//	section := l.Section()                                // the sampling state
//
// One bad file or chunk never ends it: it is counted and named in the
// Quarantine. What ends it is a *StageError. With one thread a stage and no
// join, the same files and seed give the same rows in the same order.
// docs/LOADER.md has the configuration and how to add a stage.
package loader
