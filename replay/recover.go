package replay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// SealTorn gives the growing chunks of one directory (with below, also of those below
// it), which a killed writer left behind, a footer and their final name. Bytes after the last whole block
// are cut off and reported in the infos. A chunk without any whole block is
// removed if its first one was never written to its end: no game in it was counted. It is
// set aside as *.torn if that block is damaged. The caller makes sure that nobody
// writes there (run lock). Chunks that cannot be sealed stay and are joined into
// the error.
func SealTorn(ctx context.Context, fsys fsx.FS, dir string, below bool) ([]ChunkInfo, error) {
	paths, err := ListChunks(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("seal torn chunks: %w", err)
	}
	var infos []ChunkInfo
	var errs []error
	for _, path := range paths {
		if !strings.HasSuffix(path, GrowingSuffix) || !below && filepath.Dir(path) != filepath.Clean(dir) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return infos, err
		}
		info, err := sealTorn(fsys, path)
		if err == nil {
			infos = append(infos, info)
			continue
		}
		errs = append(errs, fmt.Errorf("seal torn chunk %s: %w", path, err))
		if errors.Is(err, fsx.ErrSync) {
			break
		}
	}
	return infos, errors.Join(errs...)
}

// sealTorn writes the sealed file beside the torn one and then removes that. A
// crash in between leaves both; their games have the same ids.
func sealTorn(fsys fsx.FS, path string) (ChunkInfo, error) {
	data, err := ReadPart(fsys, path, 0, -1)
	if err != nil {
		return ChunkInfo{}, err
	}
	games, info, err := DecodeChunk(path, data)
	if err != nil {
		return info, err
	}
	if len(games) > 0 {
		whole := data[:info.Bytes-info.Lost]
		if info.Torn {
			f := footer{blocks: int64(info.Blocks), games: int64(info.Games), positions: int64(info.Positions), sum: sha256.Sum256(whole)}
			whole = appendFooter(whole[:len(whole):len(whole)], int64(len(whole)), f)
		}
		if err := fsx.WriteFile(fsys, SealedName(path), whole); err != nil {
			return info, err
		}
	}
	if len(games) == 0 && info.Lost > 0 && !begunOnly(data) {
		err = fsys.Rename(path, strings.TrimSuffix(path, GrowingSuffix)+".torn")
	} else {
		err = fsys.Remove(path)
	}
	if err != nil {
		return info, err
	}
	return info, fsx.SyncDir(fsys, filepath.Dir(path))
}

// begunOnly says whether a chunk ends before the end of its first block, as a kill leaves it.
// Zeros are what a power cut leaves of bytes that never reached the disk.
func begunOnly(data []byte) bool {
	written := bytes.TrimRight(data, "\x00")
	h, short, reason := parseHeader(written)
	if reason != "" {
		return short
	}
	rest := written[h.size:]
	b, ok := parseBlockHeader(rest, int64(h.size))
	return len(rest) < blockHeaderSize || ok && len(rest) < blockHeaderSize+b.payload
}
