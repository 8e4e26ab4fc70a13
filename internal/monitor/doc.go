// Package monitor is the one event stream of a run and its readers.
//
// Who does something reports it as an event (Run, Stage, Episode, Step,
// Validation, Measure, SelfPlay, Net, Gate, Alarm, Plugin) to a Bus. Readers see events and
// nothing else: the metrics.jsonl writer, TensorBoard event files, Prometheus, the
// progress line. Every reader but the first can be rebuilt by replaying
// metrics.jsonl.
//
// Two ways to listen. A Sink is called inside Publish, in order, and loses
// nothing: metrics.jsonl, TensorBoard and Prometheus, whose work is an encoding
// into a buffer. A Subscription has a bounded queue; when it is full the event
// is dropped for this subscriber, and training never waits for it: the terminal,
// the control socket.
//
//	files, err := monitor.OpenFiles(monitor.FilesOptions{Dir: dir, Job: job}, state)
//	bus := monitor.NewBus(monitor.BusOptions{Job: job})
//	bus.Attach(files)
//	progress := monitor.NewProgress(monitor.ProgressOptions{Out: os.Stderr})
//	bus.Go(256, progress)
//	bus.Publish(&monitor.Step{Step: 1, Losses: monitor.Numbers{"policy_loss": 3.2}})
//	state, err = files.Sync() // durable; goes into the checkpoint
//	err = bus.Close(ctx)
//
// Folder report makes plots and a summary from metrics.jsonl.
package monitor
