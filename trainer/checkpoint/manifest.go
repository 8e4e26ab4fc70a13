package checkpoint

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
)

// Names of the files that every checkpoint directory or its parent has.
const (
	manifestFile = "manifest.json"
	currentFile  = "current" // beside the checkpoints: the name of the current one
)

// manifestFormat and manifestVersion open every manifest.
const (
	manifestFormat  = "chessbrain-checkpoint"
	manifestVersion = 1
)

// maxManifestBytes bounds what is read of a manifest.
const maxManifestBytes = 4 << 20

// Manifest describes a checkpoint: whose it is, how far training was, and the
// hash of each file. The caller of Save fills Job to Info.
type Manifest struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Name    string `json:"name"`    // the directory's name
	Ordinal int64  `json:"ordinal"` // 1 for the first checkpoint of its directory, then one more each

	Job     string            `json:"job"`
	Step    int64             `json:"step"`    // optimizer steps
	Samples int64             `json:"samples"` // rows trained on
	Rows    int64             `json:"rows"`    // rows generated until then
	NetID   string            `json:"net_id"`
	Created string            `json:"created,omitempty"` // RFC 3339
	Info    map[string]string `json:"info,omitempty"`

	Files  []ManifestFile `json:"files"`
	SHA256 string         `json:"sha256"` // of this manifest with this field empty
}

// ManifestFile is one file of a checkpoint.
type ManifestFile struct {
	Name    string `json:"name"` // in the checkpoint's directory
	Size    int64  `json:"size"`
	SHA256  string `json:"sha256"`
	Section string `json:"section,omitempty"` // the stage.Section that it holds
	Version int    `json:"version,omitempty"` // of the section
}

var (
	validFileName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}$`)
	validHash     = regexp.MustCompile(`^[0-9a-f]{64}$`)
	validName     = regexp.MustCompile(`^([A-Za-z0-9_-]{1,40})_step([0-9]{8,})$`)
)

// encode returns the manifest as JSON with its own hash set.
func (m Manifest) encode() ([]byte, error) {
	m.Format, m.Version = manifestFormat, manifestVersion
	var err error
	if m.SHA256, err = m.hash(); err != nil {
		return nil, err
	}
	return json.MarshalIndent(m, "", "  ")
}

// hash is that of the manifest with its own hash empty.
func (m Manifest) hash() (string, error) {
	m.SHA256 = ""
	bare, err := json.Marshal(m)
	return fmt.Sprintf("%x", sha256.Sum256(bare)), err
}

// DecodeManifest reads and checks a manifest. What it accepts names plain files
// only and carries its own hash; anything else is a *CorruptError or says that
// the version is not known.
func DecodeManifest(data []byte) (*Manifest, error) {
	corrupt := func(format string, args ...any) (*Manifest, error) {
		return nil, &CorruptError{Path: manifestFile, Reason: fmt.Sprintf(format, args...)}
	}
	if len(data) > maxManifestBytes {
		return corrupt("%d bytes is too long", len(data))
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return corrupt("%v", err)
	}
	switch hash, err := m.hash(); {
	case m.Format != manifestFormat:
		return corrupt("format is %q, not %q", m.Format, manifestFormat)
	case m.Version != manifestVersion:
		return nil, fmt.Errorf("checkpoint manifest version %d is not in this build (it knows %d)", m.Version, manifestVersion)
	case err != nil || hash != m.SHA256:
		return corrupt("its hash does not match")
	}
	seen := map[string]bool{manifestFile: true}
	for _, f := range m.Files {
		if !validFileName.MatchString(f.Name) || seen[f.Name] || f.Size < 0 || !validHash.MatchString(f.SHA256) {
			return corrupt("bad entry for file %q", f.Name)
		}
		seen[f.Name] = true
	}
	return &m, nil
}

// Name is <job>_step<NNNNNNNN>.
func Name(job string, step int64) string { return fmt.Sprintf("%s_step%08d", job, step) }

// ParseName takes a checkpoint's name apart. ok is false for a name
// that Name does not give.
func ParseName(name string) (job string, step int64, ok bool) {
	m := validName.FindStringSubmatch(name)
	if m == nil {
		return "", 0, false
	}
	step, err := strconv.ParseInt(m[2], 10, 64)
	if err != nil || Name(m[1], step) != name {
		return "", 0, false
	}
	return m[1], step, true
}
