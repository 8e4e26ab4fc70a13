package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/configs"
)

// Kinds reads model kinds from a file like configs/models.textproto; an empty
// path means those built in.
func Kinds(path string) (*ModelKinds, error) {
	builtIn, _ := configs.Text(configs.Models)
	text, name := []byte(builtIn), configs.Models
	if path != "" {
		var err error
		if text, err = readFile(path); err != nil {
			return nil, err
		}
		name = path
	}
	kinds := &ModelKinds{}
	if err := unmarshal(name, text, kinds, ""); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i, k := range kinds.GetKind() {
		switch {
		case k.GetName() == "" || k.ConvTower == nil:
			return nil, &Error{Where: name, Field: fmt.Sprintf("kind[%d]", i), Reason: "name or conv_tower is missing"}
		case seen[k.GetName()]:
			return nil, &Error{Where: name, Field: fmt.Sprintf("kind[%d].name", i), Value: quote(k.GetName()), Reason: "is there twice"}
		}
		seen[k.GetName()] = true
		fill(k.ProtoReflect())
	}
	return kinds, nil
}

// NetBuiltin is what the net inside the program is called where a net is named.
const NetBuiltin = "builtin"

// defaultEngineNodes is what an engine of the rating list gets for a move where
// nothing is said: enough to play sensibly, and the same on every machine.
const defaultEngineNodes = 1000

// NetPath returns the path in a net's name, and the heads that the name chooses of its
// file: policy and value, each "" for no choice. FILE:policy=soft:value=q is a name with both.
func NetPath(name string) (path, policy, value string) {
	path = name
	for {
		heads := netHeads.FindStringSubmatch(path)
		switch {
		case heads == nil:
			return path, policy, value
		case heads[2] == "policy":
			policy = heads[3]
		default:
			value = heads[3]
		}
		path = heads[1]
	}
}

// netHeads finds the last choice of a head in a net's name.
var netHeads = regexp.MustCompile(`^(.+):(policy|value)=([a-z_]*)$`)

var (
	netSize    = regexp.MustCompile(`^([0-9]{1,9})x([0-9]{1,9})$`)
	sparseSize = regexp.MustCompile(`^sparse([0-9]{1,9})$`)
	// attentionSize is width x encoders x heads, and what may follow.
	attentionSize = regexp.MustCompile(`^([0-9]{1,9})x([0-9]{1,9})x([0-9]{1,9})h((?:-(?:smolgen|dense|mish))*)$`)
)

// densePositions are those that -dense of a net's name means, as in Leela's nets.
const densePositions = 512

// normalise resolves what one value says about others: a model kind or size
// becomes the body of the architecture, an attention body brings its policy head, deterministic means no producers, amp OFF
// means fp32 in self-play too, an engine that rates has a number of nodes, and the
// name makes the job id.
func (e *Effective) normalise() error {
	if err := cmp.Or(e.resolveNet(), e.overrideNet()); err != nil {
		return err
	}
	c := e.Config
	if a := c.GetModel().GetArch(); a.GetAttention() != nil && !e.chooses(policyHead, "attention") {
		a.PolicyHead = Arch_ATTENTION.Enum()
		e.origins[policyHead] = e.Origin("model.arch.attention.width")
	}
	// A run with a sparse net of before there was a choice of features says nothing of them.
	older := e.run != nil && bodyOf(e.run.Config) == "sparse" && !e.chooses("model.arch.sparse.features", "sparse")
	if s := c.GetModel().GetArch().GetSparse(); s != nil && older {
		s.Features = nil
	}
	if len(c.GetTraining().GetLrRule()) > 0 {
		c.Training.Lr = nil // the rules replace it, and a file must not have both
	}
	if c.GetTraining().GetData() != "" && e.Origin("training.source") == "default" {
		c.Training.Source = Training_LOADER.Enum()
		e.origins["training.source"] = e.Origin("training.data")
	}
	if err := e.resolveProducers(); err != nil {
		return err
	}
	if p := c.GetSelfplay().GetPrecision(); c.GetTraining().GetAmp() == Training_OFF && (p == SelfPlay_BF16 || p == SelfPlay_FP16) {
		if e.given["precision"] {
			return e.Errorf("selfplay.precision", "leave one of the two away",
				"training.amp is OFF (%s), which means fp32 everywhere", e.Origin("training.amp"))
		}
		c.Selfplay.Precision = SelfPlay_FP32.Enum()
		e.origins["selfplay.precision"] = e.Origin("training.amp")
	}
	if r := c.GetLoop().GetRating(); r.GetEngine() != "" && len(r.GetEngineNodes()) == 0 {
		r.EngineNodes = []int64{defaultEngineNodes}
		e.origins["loop.rating.engine_nodes"] = e.Origin("loop.rating.engine")
	}
	return nil
}

const policyHead = archPath + "policy_head"

// Fields that say how many goroutines play.
const (
	producerWorkers    = "selfplay.producer_workers"
	producerOnEachCore = "selfplay.producer_on_each_core"
)

// resolveProducers leaves a number of goroutines or the word for one a core, never both,
// and none where the run is deterministic.
func (e *Effective) resolveProducers() error {
	c, s := e.Config, e.Config.GetSelfplay()
	if s.GetProducerOnEachCore() && s.GetProducerWorkers() > 0 {
		number, word := e.origins[producerWorkers], e.origins[producerOnEachCore]
		oneFile := e.file != nil && says(e.file.Config, producerWorkers) && says(e.file.Config, producerOnEachCore)
		if number == word && (number != "" || oneFile) {
			return e.Errorf(producerOnEachCore, "leave one of the two away", "producer_workers: %d stands beside it", s.GetProducerWorkers())
		}
		s.ProducerWorkers = proto.Int32(0) // of a weaker layer
		e.origins[producerWorkers] = e.Origin(producerOnEachCore)
	}
	if !c.GetDeterministic() || s.GetProducerWorkers() == 0 && !s.GetProducerOnEachCore() {
		return nil
	}
	for flag, path := range map[string]string{"producer-workers": producerWorkers, "producer-on-each-core": producerOnEachCore} {
		if e.given[flag] {
			return e.Errorf(path, "leave one of the two away", "deterministic allows no producer workers")
		}
		e.origins[path] = e.Origin("deterministic")
	}
	s.ProducerWorkers, s.ProducerOnEachCore = proto.Int32(0), proto.Bool(false)
	return nil
}

// chooses says whether a field was given that nets with a kind of body have: outside, in the
// file, or in that of a run with such a body.
func (e *Effective) chooses(field, body string) bool {
	_, outside := e.origins[field]
	return outside || e.file != nil && says(e.file.Config, field) ||
		e.run != nil && bodyOf(e.run.Config) == body && says(e.run.Config, field)
}

// resolveNet turns a model kind or a size in model.net into the body of
// model.arch; a file stays.
func (e *Effective) resolveNet() error {
	m := e.Config.GetModel()
	net := m.GetNet()
	kinds, err := Kinds(m.GetKindsFile())
	if err != nil || net == "" {
		return err
	}
	if size := sparseSize.FindStringSubmatch(net); size != nil {
		accumulators, _ := strconv.Atoi(size[1]) // at most nine digits
		sparse := cmp.Or(proto.CloneOf(m.GetArch().GetSparse()), &SparseBody{})
		sparse.Accumulators = proto.Int32(int32(accumulators))
		fill(sparse.ProtoReflect())
		m.Arch.Body = &Arch_Sparse{sparse}
		e.netIsArch("sparse.accumulators")
		return nil
	}
	if size := attentionSize.FindStringSubmatch(net); size != nil {
		e.resolveAttention(size)
		return nil
	}
	tower := proto.CloneOf(m.GetArch().GetConvTower())
	if tower == nil { // a file's other body gives way
		tower = &ConvTower{}
		fill(tower.ProtoReflect())
	}
	names := make([]string, 0, len(kinds.GetKind()))
	found := false
	for _, k := range kinds.GetKind() {
		names = append(names, k.GetName())
		if k.GetName() == net {
			tower, found = k.GetConvTower(), true
		}
	}
	if size := netSize.FindStringSubmatch(net); size != nil && !found {
		filters, _ := strconv.Atoi(size[1]) // at most nine digits
		blocks, _ := strconv.Atoi(size[2])
		tower.Filters, tower.Blocks, found = proto.Int32(int32(filters)), proto.Int32(int32(blocks)), true
	}
	if !found {
		path, _, _ := NetPath(net)
		if info, err := os.Stat(path); net == NetBuiltin || err == nil && !info.IsDir() {
			return nil // a net file
		}
		return e.Errorf("model.net", "known kinds: "+strings.Join(names, ", "), "neither a model kind, nor filters x blocks such as 64x6, nor a sparse net such as sparse128, nor an attention net such as 64x4x4h, nor builtin, nor a file that exists")
	}
	m.Arch.Body = &Arch_ConvTower{ConvTower: tower}
	e.netIsArch("conv_tower.filters", "conv_tower.blocks", "conv_tower.se_ratio")
	return nil
}

// overrideNet sets again what --override-config says of the body that model.net has replaced.
func (e *Effective) overrideNet() error {
	is := bodyOf(e.Config)
	for _, text := range pairsOf(e.input.Overrides) {
		path, _, _ := strings.Cut(text, "=")
		field, ofArch := strings.CutPrefix(path, archPath)
		body, _, ofBody := strings.Cut(field, ".")
		switch {
		case !ofArch || !ofBody || e.Config.GetModel().GetNet() != "": // a file has its own
		case body != is:
			return &Error{Where: "--override-config " + text, Field: path, Reason: "the net that is named has another body, " + is, Remedy: "leave one of the two away"}
		default:
			e.override([]string{text}) // it was right before
		}
	}
	return nil
}

// resolveAttention makes the body of what attentionSize found: width, encoders, heads and
// suffixes. What a file says of the body's other sizes stays.
func (e *Effective) resolveAttention(size []string) {
	a := e.Config.GetModel().GetArch()
	body := cmp.Or(proto.CloneOf(a.GetAttention()), &AttentionBody{})
	fields := []string{"attention.width", "attention.encoders", "attention.heads"}
	for i, field := range []**int32{&body.Width, &body.Encoders, &body.Heads} {
		n, _ := strconv.Atoi(size[1+i]) // at most nine digits
		*field = proto.Int32(int32(n))
	}
	if strings.Contains(size[4], "-smolgen") {
		body.Smolgen = proto.Bool(true)
		fields = append(fields, "attention.smolgen")
	}
	if strings.Contains(size[4], "-dense") && body.GetPositions() == 0 {
		body.Positions = proto.Int32(densePositions)
		fields = append(fields, "attention.positions")
	}
	if strings.Contains(size[4], "-mish") {
		a.Activation = Arch_MISH.Enum()
		fields = append(fields, "activation")
	}
	fill(body.ProtoReflect())
	a.Body = &Arch_Attention{body}
	e.netIsArch(fields...)
}

// netIsArch notes that model.net has become fields of model.arch.
func (e *Effective) netIsArch(fields ...string) {
	for _, field := range fields {
		e.origins["model.arch."+field] = e.Origin("model.net")
	}
	e.Config.Model.Net = proto.String("")
	delete(e.origins, "model.net")
}

// JobID makes a job id of any name: characters that an id may not have become
// "-", and it ends after 40.
func JobID(name string) string {
	id := noID.ReplaceAllLiteralString(filepath.ToSlash(name), "-")
	return id[:min(len(id), 40)]
}

var noID = regexp.MustCompile(`[^A-Za-z0-9_-]`)
