// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ExitDiffers is the exit code if a tree differs from its record. Other codes mean that this could not be determined.
const ExitDiffers = 3

// Progress is the format in which "elemental-agent tree compare" reports its progress: bytes read, and the total.
const Progress = "read %d of %d"

// Lists are the files with which a snapshot is compared.
type Lists struct {
	// Recorded was written by Record, Downloaded by Downloaded.Write. The second may be missing.
	Recorded, Downloaded string
}

// Difference is why a tree differs from its record, or why that cannot be proven.
type Difference struct{ Reason string }

func (d *Difference) Error() string { return d.Reason }

func differ(format string, args ...any) error {
	return &Difference{Reason: fmt.Sprintf(format, args...)}
}

// transient are the directories whose content is not copied. excluded are files that are not copied, or that the CLI writes for snapper
// after the last of its hooks.
// Source: elemental-toolkit v2.3.2, GetDefaultSystemExcludes and pkg/snapshotter, configureSnapper.
var (
	transient = []string{"mnt", "proc", "sys", "dev", "tmp", "run"}
	excluded  = []string{".snapshots", "host", "etc/resolv.conf", "etc/default/snapper", "etc/sysconfig/snapper", "etc/snapper/configs/root"}
)

// end is the last line of a manifest. Without it the manifest is truncated.
const end = "end"

// version of the format, in the first line. Other versions record other properties of a file.
const version = 1

type head struct {
	Version int `json:"version"`
	// Unpacked is the space that an image takes on a file system, in bytes; only in a list of downloaded files.
	Unpacked int64 `json:"unpacked,omitempty"`
}

// readHead reads the first line of a list; an error if the version is another one.
func readHead(lines *json.Decoder, what string) (head, error) {
	begin := head{}
	if err := lines.Decode(&begin); err != nil || begin.Version != version {
		return head{}, fmt.Errorf("%s is not in the format of this agent (version %d)", what, version)
	}
	return begin, nil
}

// eachLine reads the other lines, up to the last; an error if that is missing.
func eachLine[line any](lines *json.Decoder, what string, visit func(line) (last bool, err error)) error {
	for last := false; !last; {
		var read line
		err := lines.Decode(&read)
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%s is truncated", what)
		}
		if err == nil {
			last, err = visit(read)
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", what, err)
		}
	}
	return nil
}

// entry is a line of a manifest. Names are quoted there, since they need not be UTF-8.
type entry struct {
	Path string `json:"path"`
	// Mode is a fs.FileMode.
	Mode uint32 `json:"mode"`
	// UID and GID own it.
	UID uint32 `json:"uid,omitempty"`
	GID uint32 `json:"gid,omitempty"`
	// Device is the number of a device file.
	Device uint64 `json:"device,omitempty"`
	// Of files.
	Size int64  `json:"size,omitempty"`
	Sum  string `json:"sum,omitempty"`
	// Of symbolic links.
	Target string `json:"target,omitempty"`
	// Attributes is a hash of the extended attributes.
	Attributes string `json:"attributes,omitempty"`
}

// Record writes a manifest of a tree.
func Record(root string, to io.Writer) error {
	lines := json.NewEncoder(to)
	if err := lines.Encode(head{Version: version}); err != nil {
		return err
	}
	err := filepath.WalkDir(root, func(path string, found fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil || relative == "." {
			return err
		}
		if slices.Contains(excluded, relative) {
			return skip(found)
		}
		seen, err := look(root, relative)
		if err != nil {
			return err
		}
		if err := lines.Encode(seen.quoted()); err != nil {
			return err
		}
		if slices.Contains(transient, relative) {
			return skip(found)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("recording the files of %s: %w", root, err)
	}
	return lines.Encode(entry{Path: end})
}

func (e entry) quoted() entry {
	e.Path, e.Target = strconv.Quote(e.Path), strconv.Quote(e.Target)
	return e
}

func (e entry) unquoted() (entry, error) {
	path, err := strconv.Unquote(e.Path)
	if err != nil {
		return e, err
	}
	e.Path = path
	e.Target, err = strconv.Unquote(e.Target)
	return e, err
}

func skip(found fs.DirEntry) error {
	if found.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func look(root, relative string) (entry, error) {
	path := filepath.Join(root, relative)
	info, err := os.Lstat(path)
	if err != nil {
		return entry{}, err
	}
	seen := entry{Path: relative, Mode: uint32(info.Mode())}
	if of, ok := info.Sys().(*syscall.Stat_t); ok {
		seen.UID, seen.GID = of.Uid, of.Gid
		if info.Mode()&fs.ModeDevice != 0 {
			seen.Device = uint64(of.Rdev)
		}
	}
	switch {
	case info.Mode().IsRegular():
		seen.Size = info.Size()
		seen.Sum, err = sum(path)
	case info.Mode()&fs.ModeSymlink != 0:
		seen.Target, err = os.Readlink(path)
	}
	if err != nil {
		return entry{}, err
	}
	seen.Attributes, err = attributes(path)
	return seen, err
}

func sum(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	if err := forgetRead(file); err != nil {
		return "", err
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// Comparison of a tree with its record.
type Comparison struct {
	// Recorded was written by Record.
	Recorded io.Reader
	// Downloaded lists the files of the image. Files that are not in it are compared with Recorded only.
	Downloaded Downloaded
	// Read, if set, is called with the size of each file that was read.
	Read func(bytes int64)
}

// With returns a Difference unless everything recorded is in a tree as it was recorded and downloaded. Additional files are ignored.
func (c Comparison) With(root string) error {
	files, differing, first := 0, 0, ""
	err := eachRecorded(c.Recorded, func(recorded entry) {
		files++
		reason := recorded.differs(root)
		if reason == "" {
			reason = c.Downloaded.differs(root, recorded)
		}
		if reason != "" {
			differing++
		}
		if reason != "" && first == "" {
			first = fmt.Sprintf("/%s %s", recorded.Path, reason)
		}
		if c.Read != nil {
			c.Read(recorded.Size)
		}
	})
	if err == nil && differing > 0 {
		return differ("%d of %d files differ from what was written, the first: %s", differing, files, first)
	}
	return err
}

// RecordedBytes returns the total size of the files of a manifest.
func RecordedBytes(manifest io.Reader) (total int64, err error) {
	err = eachRecorded(manifest, func(recorded entry) { total += recorded.Size })
	return total, err
}

// eachRecorded reads the entries of a manifest; a Difference if it is truncated or damaged.
func eachRecorded(manifest io.Reader, visit func(entry)) error {
	const what = "the list of the files that were to be written"
	lines := json.NewDecoder(manifest)
	if _, err := readHead(lines, what); err != nil {
		return differ("%s", err)
	}
	err := eachLine(lines, what, func(recorded entry) (last bool, err error) {
		if recorded.Path == end {
			return true, nil
		}
		if recorded, err = recorded.unquoted(); err == nil {
			visit(recorded)
		}
		return false, err
	})
	if err != nil {
		return differ("%s", err)
	}
	return nil
}

// differs returns how a file differs from its record. Directories whose content is not copied only have to exist.
func (e entry) differs(root string) string {
	seen, err := look(root, e.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is missing"
	case err != nil:
		return "cannot be read: " + strings.TrimPrefix(err.Error(), root)
	case slices.Contains(transient, e.Path):
		return ""
	case seen.Mode != e.Mode:
		return fmt.Sprintf("has mode %s in place of %s", fs.FileMode(seen.Mode), fs.FileMode(e.Mode))
	case seen.UID != e.UID || seen.GID != e.GID:
		return fmt.Sprintf("belongs to %d:%d in place of %d:%d", seen.UID, seen.GID, e.UID, e.GID)
	case seen.Attributes != e.Attributes:
		return "has other extended attributes"
	case seen != e:
		return "has other content"
	}
	return ""
}
