package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// validate checks every value, and values against each other.
func (e *Effective) validate() (bad Errors) {
	complain := func(path, value, remedy, format string, args ...any) {
		bad = append(bad, &Error{Where: e.Origin(path), Field: path, Value: value, Reason: fmt.Sprintf(format, args...), Remedy: remedy})
	}
	walk(e.Config.ProtoReflect(), "", func(path string, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
		if x, ok := numberOf(fd, v); ok {
			if r, known := intervalOf(fd); known && !r.holds(x) {
				complain(path, scalarText(fd, v), r.remedy(), "out of range")
			}
		} else if fd.Enum() != nil {
			if fd.Enum().Values().ByNumber(v.Enum()) == nil {
				complain(path, scalarText(fd, v), "", notInThisBuild)
			}
		}
	})
	c := e.Config
	e.validateNames(complain)
	validateTraining(c.GetTraining(), complain)
	validateLoop(c.GetLoop(), complain)
	e.validateProducers(complain)
	e.validateSource(complain)
	validateStages(c, complain)
	for i, p := range c.GetSelfplay().GetOpenings().GetPositions() {
		if p.GetFen() == "" {
			complain(fmt.Sprintf("selfplay.openings.positions[%d]", i), "", "give it a fen", "no start position")
		}
	}
	tower := c.GetModel().GetArch().GetConvTower()
	if tower.GetSeRatio() > tower.GetFilters() {
		complain("model.arch.conv_tower.se_ratio", strconv.Itoa(int(tower.GetSeRatio())), "take 4, or 0 for none", "above the %d filters", tower.GetFilters())
	}
	if b := c.GetModel().GetArch().GetAttention(); b.GetHeads() > 0 && b.GetWidth()%b.GetHeads() != 0 {
		width := b.GetWidth() / b.GetHeads() * b.GetHeads()
		complain("model.arch.attention.width", strconv.Itoa(int(b.GetWidth())), fmt.Sprintf("take %d, or another number of heads", max(width, b.GetHeads())),
			"not a multiple of heads, which is %d: each head has an equal share of the channels", b.GetHeads())
	}
	return bad
}

// walk calls fn with every single value and map that is set below m, in schema order.
func walk(m protoreflect.Message, prefix string, fn func(string, protoreflect.FieldDescriptor, protoreflect.Value)) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		path := join(prefix, string(fd.Name()))
		switch v := m.Get(fd); {
		case !m.Has(fd):
		case fd.IsMap():
			fn(path, fd, v)
		case fd.IsList():
			for k := range v.List().Len() {
				if at := fmt.Sprintf("%s[%d]", path, k); fd.Message() != nil {
					walk(v.List().Get(k).Message(), at, fn)
				} else {
					fn(at, fd, v.List().Get(k))
				}
			}
		case fd.Message() != nil:
			walk(v.Message(), path, fn)
		default:
			fn(path, fd, v)
		}
	}
}

// numberOf returns a numeric value, ok = false for other kinds.
func numberOf(fd protoreflect.FieldDescriptor, v protoreflect.Value) (x float64, ok bool) {
	switch fd.Kind() {
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return float64(v.Int()), true
	case protoreflect.Uint64Kind:
		return float64(v.Uint()), true
	case protoreflect.DoubleKind:
		return v.Float(), true
	}
	return 0, false
}

// twice says whether a list has two equal words.
func twice(words []string) bool {
	return len(slices.Compact(slices.Sorted(slices.Values(words)))) < len(words)
}

// complainFunc takes a fault: path, value, remedy, reason.
type complainFunc func(path, value, remedy, format string, args ...any)

var (
	idPattern    = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)
	stagePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)
	// devicePattern has a GPU's number in one form alone: equal GPUs are equal words.
	devicePattern = regexp.MustCompile(`^(auto|cpu|cuda(:all|:(0|[1-9][0-9]{0,2})(\+(0|[1-9][0-9]{0,2}))*)?)$`)
)

// validateNames checks ids, devices, paths and addresses.
func (e *Effective) validateNames(complain complainFunc) {
	c, t, m := e.Config, e.Config.GetTraining(), e.Config.GetMetrics()
	if id := c.GetJobId(); id != "" && !idPattern.MatchString(id) {
		complain("job_id", quote(id), "", "an id has 1 to 40 of A-Z a-z 0-9 _ -")
	}
	if n := t.GetTrainingName(); !idPattern.MatchString(n) {
		complain("training.training_name", quote(n), "", "a name has 1 to 40 of A-Z a-z 0-9 _ -")
	}
	if c.GetRunDir() == "" {
		complain("run_dir", "", "give a directory", "is empty")
	}
	for _, path := range []string{"training.device", "selfplay.producer_device"} {
		m, fd := parentOf(c, path)
		switch device := m.Get(fd).String(); {
		case device == "mps":
			complain(path, quote(device), "use cpu", "no Metal backend")
		case !devicePattern.MatchString(device):
			complain(path, quote(device), "wanted is auto, cpu, cuda, cuda:N, cuda:N+M or cuda:all", "no such kind of device")
		case twice(strings.Split(strings.TrimPrefix(device, "cuda:"), "+")):
			complain(path, quote(device), "name each GPU once", "a GPU is named twice")
		}
	}
	names := []string{"swa", "untrained"} // that curves have already
	for i, measure := range m.GetMeasure() {
		path, name := fmt.Sprintf("metrics.measure[%d].name", i), measure.GetName()
		if !idPattern.MatchString(name) {
			complain(path, quote(name), "", "a name has 1 to 40 of A-Z a-z 0-9 _ -")
		} else if slices.Contains(names, name) {
			complain(path, quote(name), "give it another name", "is taken")
		}
		names = append(names, name)
	}
	if u, err := url.Parse(m.GetOtlp()); m.GetOtlp() != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		complain("metrics.otlp", quote(m.GetOtlp()), "name one such as http://127.0.0.1:4318", "it is no URL of a collector")
	}
	for _, a := range [][2]string{{"metrics.addr", m.GetAddr()}, {"metrics.web", m.GetWeb()}} {
		path, addr := a[0], a[1]
		if addr == "" {
			continue
		}
		host, port, err := net.SplitHostPort(addr)
		if _, bad := strconv.ParseUint(port, 10, 16); err == nil && errors.Is(bad, strconv.ErrRange) {
			complain(path, quote(addr), "want a port from 0 to 65535", "port "+port+" is too high")
		} else if err != nil || bad != nil {
			complain(path, quote(addr), "write HOST:PORT, for example 127.0.0.1:9464", "not an address")
		} else if !loopback(host) && (!m.GetPublic() || m.GetTokenFile() == "") {
			complain(path, quote(addr), "use 127.0.0.1, or --metrics-public with --metrics-token-file", "other machines could read it")
		}
	}
	if m.GetWebControl() && m.GetTokenFile() == "" {
		complain("metrics.web_control", "true", "name a file with --metrics-token-file", "anybody on this machine could stop the run")
	}
	if p := filepath.ToSlash(c.GetExport().GetPath()); p == "" || slices.Contains(strings.Split(p, "/"), "..") {
		complain("export.path", quote(p), "", "must not be empty or hold ..")
	}
	for _, hole := range regexp.MustCompile(`\{[^}]*\}?`).FindAllString(c.GetExport().GetPath(), -1) {
		if !slices.Contains([]string{"{job}", "{training}", "{samples}", "{rows}", "{step}", "{datetime}"}, hole) {
			complain("export.path", quote(c.GetExport().GetPath()), "known: {job} {training} {samples} {rows} {step} {datetime}", "%s means nothing", hole)
		}
	}
}

// loopback says whether only this machine can reach a host name.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// validateProducers refuses a command line that asks a process that only plays for no
// players. A file may say it: it may be a trainer's, too, and there 0 has its meaning.
func (e *Effective) validateProducers(complain complainFunc) {
	onlyPlays := slices.ContainsFunc(e.input.Flags.values, func(v *Value) bool { return v.flag.Path == producerWorkers && v.flag.Group != Group_EPISODES })
	s, from := e.Config.GetSelfplay(), e.origins[producerWorkers]
	said := from == "--producer-workers" || from == "--override-config" || strings.HasPrefix(from, fromVariable)
	if onlyPlays && said && s.GetProducerWorkers() == 0 && !s.GetProducerOnEachCore() {
		complain(producerWorkers, "0", "give --producer-on-each-core for one a core, or a number from 1",
			"0 is none beside a trainer, which then plays between its steps; here nobody else plays")
	}
}

// validateSource refuses what the chosen source of games cannot honour.
func (e *Effective) validateSource(complain complainFunc) {
	source := e.Config.GetTraining().GetSource()
	for _, f := range flags() {
		if f.Group == Group_EPISODES && source != Training_SELFPLAY && e.given[f.Name] {
			complain(f.Path, "", "leave it away", "--%s has no meaning with --source %s", f.Name, strings.ToLower(source.String()))
		}
	}
	for _, name := range []string{"steps", "source-dir", "checkpoint-steps"} {
		if source == Training_SELFPLAY && e.given[name] {
			complain("training.source", "", "leave it away, or use --source dir", "--%s has no meaning with --source selfplay", name)
		}
	}
}

// validateStages refuses names that no stage can have. Which stages there are,
// built in and as programs, only those who make them know.
func validateStages(c *Config, complain complainFunc) {
	check := func(path, kind, name string) {
		if !stagePattern.MatchString(name) {
			complain(path, quote(name), "a stage has 1 to 40 of a-z 0-9 -", "no name of a stage of kind %s", kind)
		}
	}
	for i, s := range c.GetPlugins().GetRescorer() {
		check(fmt.Sprintf("plugins.rescorer[%d].name", i), "rescorer", s.GetName())
	}
	check("plugins.sampler.name", "sampler", c.GetPlugins().GetSampler().GetName())
	check("export.exporter", "exporter", c.GetExport().GetExporter())
	if name := c.GetExport().GetPublisher(); name != "directory" {
		complain("export.publisher", quote(name), "known: directory", "no such publisher: %s", notInThisBuild)
	}
	for i, dir := range c.GetPlugins().GetDir() {
		if dir == "" {
			complain(fmt.Sprintf("plugins.dir[%d]", i), quote(dir), "name a directory", "is empty")
		}
	}
}

// kindsOf lists the loss formulas that each head has.
var kindsOf = map[Loss_Head][]Loss_Kind{
	Loss_POLICY:     {Loss_CROSS_ENTROPY, Loss_SOFT_CROSS_ENTROPY, Loss_OPTIMISTIC_CROSS_ENTROPY},
	Loss_VALUE:      {Loss_WDL_CROSS_ENTROPY, Loss_MSE, Loss_VALUE_ERROR, Loss_VALUE_CATEGORICAL},
	Loss_MOVES_LEFT: {Loss_HUBER},
	Loss_WEIGHTS:    {Loss_L2},
	Loss_SURVIVAL:   {Loss_BINARY_CROSS_ENTROPY},
	Loss_MATERIAL:   {Loss_HUBER},
	Loss_REPLY:      {Loss_CROSS_ENTROPY},
	Loss_SHORT_TERM: {Loss_MSE},
}

// opponent names the policy head that learns the opponent's reply, as nn.Opponent.
const opponent = "opponent"

// headNames lists the further heads of an output, as nn.HeadNames does.
var headNames = map[Loss_Head][]string{Loss_POLICY: {"optimistic", "soft", opponent}, Loss_VALUE: {"q", "st"}}

// validateTraining checks losses, learning-rate rules and warm-up.
func validateTraining(t *Training, complain complainFunc) {
	metrics, learns := map[string]bool{}, false
	for i, l := range t.GetLosses() {
		path := fmt.Sprintf("training.losses[%d]", i)
		kinds := kindsOf[l.GetHead()]
		switch {
		case l.Head == nil || l.Kind == nil || l.GetMetric() == "":
			complain(path, "", "give it all three", "head, kind or metric is missing")
		case !slices.Contains(kinds, l.GetKind()):
			complain(path+".kind", l.GetKind().String(), "", "does not belong to head %v, which has %v", l.GetHead(), kinds)
		case l.GetHeadName() != "" && !slices.Contains(headNames[l.GetHead()], l.GetHeadName()):
			complain(path+".head_name", quote(l.GetHeadName()), "", "is none of %q, which head %v has besides its main one", headNames[l.GetHead()], l.GetHead())
		case l.GetHeadName() == opponent && l.GetKind() != Loss_CROSS_ENTROPY:
			complain(path+".kind", l.GetKind().String(), "take CROSS_ENTROPY", "does not belong to head_name %q, which learns one move, the opponent's reply", opponent)
		case metrics[l.GetMetric()]:
			complain(path+".metric", quote(l.GetMetric()), "give each loss its own name", "is there twice")
		case strings.ContainsFunc(l.GetMetric(), func(r rune) bool { return !unicode.IsPrint(r) }):
			complain(path+".metric", quote(l.GetMetric()), "", "has characters that cannot be printed")
		}
		metrics[l.GetMetric()] = true
		learns = learns || l.GetHead() != Loss_WEIGHTS && l.GetWeight() > 0
	}
	if !learns {
		complain("training.losses", "", "chessbrain recipes show example has losses", "nothing to learn: no head has a loss with a weight above 0")
	}
	if t.GetWarmup().GetKatago() && t.GetWarmup().GetSteps() > 0 {
		complain("training.warmup", "", "keep one of the two", "steps and katago are both set")
	}
	starts, atZero := map[int64]bool{}, len(t.GetLrRule()) == 0
	for i, r := range t.GetLrRule() {
		path := fmt.Sprintf("training.lr_rule[%d]", i)
		n, total := len(r.GetDurationSteps()), int64(0)
		for _, d := range r.GetDurationSteps() {
			total += d
		}
		switch {
		case len(r.GetLr()) == 0 || len(r.GetLr()) != n && len(r.GetLr()) != n+1:
			complain(path+".lr", "", "want as many, or one more", "%d learning rates for %d segments", len(r.GetLr()), n)
		case len(r.GetTransition()) > n:
			complain(path+".transition", "", "", "%d transitions for %d segments", len(r.GetTransition()), n)
		case r.GetLoop() && total == 0:
			complain(path+".loop", "true", "", "a loop of no steps")
		case starts[r.GetStartingStep()]:
			complain(path+".starting_step", "", "", "%d is there twice", r.GetStartingStep())
		}
		starts[r.GetStartingStep()] = true
		atZero = atZero || r.GetStartingStep() == 0
	}
	if !atZero {
		complain("training.lr_rule", "", "let one rule have starting_step 0", "no rule holds at step 0")
	}
}

// validateLoop checks values of the loop section against each other.
func validateLoop(l *Loop, complain complainFunc) {
	if s := l.GetGatekeeper().GetSprt(); s.GetElo1() <= s.GetElo0() {
		complain("loop.gatekeeper.sprt.elo1", floatText(s.GetElo1()), "take 0 and 10, for example", "not above elo0, which is %s", floatText(s.GetElo0()))
	}
	if s := l.GetShuffle(); s.GetMaxRows() > 0 && s.GetMaxRows() < s.GetMinRows() {
		complain("loop.shuffle.max_rows", strconv.FormatInt(s.GetMaxRows(), 10), "take 0 for no limit", "below min_rows, which is %d", s.GetMinRows())
	}
	r := l.GetRating()
	if r.GetEngine() == "" && len(r.GetEngineNodes())+len(r.GetEngineSkill()) > 0 {
		complain("loop.rating.engine", "", "name its program, such as stockfish", "there are nodes or skill levels for no engine")
	}
}
