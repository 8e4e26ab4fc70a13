package shuffle

import (
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// Role is the name of the lock, in a run's locks/, of who shuffles that run's games:
// one at a time, since two would remove each other's buckets and old shuffles. Run
// leaves it to its caller.
const Role = "shuffler"

// Options say what is shuffled, and how.
type Options struct {
	FS         fsx.FS   // nil = fsx.OS
	InputDirs  []string // directories with game files below them
	OutputDir  string   // gets <time>/{train,val}, train.json, and the index of games
	ScratchDir string   // for the buckets, as large as the result; "" = in the output directory

	Settings
	Threads int   // goroutines; 0 = all cores
	Memory  int64 // bytes for buckets, about; 0 = as the number of rows needs it
	Keep    int   // finished shuffles that stay, the newest ones; 0 = all

	Now     time.Time // names the shuffle
	Program string    // name and version, for the marker

	// Report is told each step in one line. Nil = nobody.
	Report func(line string)
}

// Settings are what decides which rows come out, and in which order.
type Settings struct {
	Window      WindowOptions `json:"window"`
	RowsPerFile int64         `json:"approx_rows_per_file"`
	Seed        uint64        `json:"seed"`
	Split       SplitBy       `json:"split"`
	Validation  float64       `json:"validation_share"`
	ShortTerm   float64       `json:"st_theta"`        // of the target ST (record.Extra); 0 = not made
	Ahead       bool          `json:"ahead,omitempty"` // rows have encoding.Ahead
}

// DefaultSettings returns KataGo's window and file size, and what the other
// sources use: the split of 5 % of the games, by game, and the theta of 5/6.
func DefaultSettings() Settings {
	return Settings{Window: DefaultWindow(), RowsPerFile: 70_000, Split: SplitByGame, Validation: 0.05, ShortTerm: 5. / 6}
}

const (
	// rowBytesGuess is what a packed row takes in memory while it is shuffled,
	// for plans made before any was packed.
	rowBytesGuess = 300
	minMemory     = 64 << 20
	maxBuckets    = 1 << 20
	minFlush      = 4 << 10
	maxFlush      = 1 << 20
	defaultFlush  = 64 << 10
)

// Validate says which setting is out of range.
func (s Settings) Validate() error {
	return cmp.Or(s.Window.Validate(),
		replay.Wrong(s.RowsPerFile < 1 || s.RowsPerFile > 1<<28,
			"approx-rows-per-file %d: want 1 to %d", s.RowsPerFile, 1<<28),
		replay.Wrong(!(s.ShortTerm >= 0 && s.ShortTerm <= 1), "st-theta %g: want 0 to 1", s.ShortTerm),
		replay.Wrong(s.Split != SplitByGame && s.Split != SplitByFile,
			"split %q: want %s or %s", s.Split, SplitByGame, SplitByFile),
		replay.Wrong(!(s.Validation >= 0 && s.Validation < 1),
			"validation-share %g: want 0 or more, below 1", s.Validation))
}

// Validate sets the defaults and says which option is missing or out of range.
func (o *Options) Validate() error {
	o.FS = cmp.Or(o.FS, fsx.OS)
	o.Threads = cmp.Or(o.Threads, runtime.GOMAXPROCS(0))
	if o.Report == nil {
		o.Report = func(string) {}
	}
	return cmp.Or(replay.Wrong(len(o.InputDirs) == 0, "no input directory: name one with game files below it"),
		replay.Wrong(o.OutputDir == "", "no output directory"),
		replay.Wrong(fsx.IsFile(o.ScratchDir), "scratch-dir %s is a file: name a directory", o.ScratchDir),
		replay.Wrong(o.Threads < 1 || o.Threads > 1024, "num-threads %d: want 1 to 1024", o.Threads),
		replay.Wrong(o.Memory < 0 || o.Memory > 0 && o.Memory < 1<<20, "memory %d bytes: want 1 MiB or more", o.Memory),
		replay.Wrong(o.Keep < 0, "keep %d: want 0 or more", o.Keep),
		o.Settings.Validate())
}

func (o *Options) say(format string, args ...any) { o.Report(fmt.Sprintf(format, args...)) }

// layout is how the rows are spread: files of so many buckets each, and how
// much is collected for a bucket before it is written.
type layout struct {
	TrainFiles     int `json:"train_files"`
	ValFiles       int `json:"val_files"`
	BucketsPerFile int `json:"buckets_per_file"`

	flush  int
	memory int64 // that buckets take, about
}

func (l layout) buckets() int { return (l.TrainFiles + l.ValFiles) * l.BucketsPerFile }

// trainBuckets are the first ones; those of validation follow.
func (l layout) trainBuckets() int { return l.TrainFiles * l.BucketsPerFile }

// newLayout fits the expected rows into files, and files into memory: each
// thread permutes one bucket at a time, and while rows are spread each bucket
// has a buffer. Where there is too little memory a file is made of several
// buckets, one behind the other; the order stays exactly uniform.
func (o *Options) newLayout(trainRows, valRows int64) (layout, error) {
	files := func(rows int64) int64 { return (rows + o.RowsPerFile - 1) / o.RowsPerFile }
	train, val := max(1, files(trainRows)), files(valRows)
	perFile := min(o.RowsPerFile, max(1, trainRows)) * rowBytesGuess
	memory := cmp.Or(o.Memory, max(minMemory, 2*(int64(o.Threads)*perFile+(train+val)*defaultFlush)))
	parts := max(1, (2*int64(o.Threads)*perFile+memory-1)/memory) // half of the memory
	if (train+val)*parts > maxBuckets {
		return layout{}, fmt.Errorf("%d rows need %d buckets in %d bytes of memory, at most %d are possible: "+
			"raise --memory or --approx-rows-per-file", trainRows, (train+val)*parts, memory, maxBuckets)
	}
	l := layout{TrainFiles: int(train), ValFiles: int(val), BucketsPerFile: int(parts)}
	l.flush = int(min(maxFlush, max(minFlush, memory/2/int64(l.buckets()))))
	l.memory = max(int64(o.Threads)*perFile/parts, int64(l.buckets())*int64(l.flush))
	return l, nil
}

// SplitBy says what decides whether a game is for training or validation.
type SplitBy string

// The two ways to split. Neither puts one game on both sides: a game that two
// files hold counts once.
const (
	// SplitByGame is the rule of every other source (record.IsValidation, by the
	// game's id): a run that changes its source never trains on a game that it
	// validated on before. The default.
	SplitByGame SplitBy = "game"

	// SplitByFile is KataGo's rule, by the MD5 of the file's base name. Names
	// repeat in the directories of several processes, and those files then fall
	// on the same side.
	SplitByFile SplitBy = "file"
)

// validation says whether a game of a file is for validation. A growing file is on
// the side that it has when it is sealed.
func (s Settings) validation(path string, id [16]byte) bool {
	if s.Split == SplitByFile {
		return FileShare(replay.SealedName(filepath.Base(path))) >= 1-s.Validation
	}
	return record.IsValidation(id, s.Validation)
}

// FileShare returns KataGo's number of a file, evenly spread over [0,1): the
// first 13 hexadecimal digits of the MD5 of its base name, divided by 2^52.
func FileShare(base string) float64 {
	sum := md5.Sum([]byte(base))
	return float64(binary.BigEndian.Uint64(sum[:])>>12) / (1 << 52)
}
