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

// ExitDiffers is the exit code of who finds that a tree is not what was recorded of it. Others say that this could not be told.
const ExitDiffers = 3

// Progress is the format of what "elemental-agent tree compare" says of its progress: bytes that were read, and all that are to be.
const Progress = "read %d of %d"

// Lists are the files with what a snapshot is compared with.
type Lists struct {
	// Recorded is what Record wrote, Downloaded what Downloaded.Write wrote; there may be no file of that.
	Recorded, Downloaded string
}

// Difference says why a tree is not what was recorded of it, or why nothing says that it is.
type Difference struct{ Reason string }

func (d *Difference) Error() string { return d.Reason }

func differ(format string, args ...any) error {
	return &Difference{Reason: fmt.Sprintf(format, args...)}
}

// transient are the directories whose content is not copied; left are files that are not, and those that the CLI writes for snapper after
// the last of its hooks.
// Source: elemental-toolkit v2.3.2, GetDefaultSystemExcludes and pkg/snapshotter, configureSnapper.
var (
	transient = []string{"mnt", "proc", "sys", "dev", "tmp", "run"}
	left      = []string{".snapshots", "host", "etc/resolv.conf", "etc/default/snapper", "etc/sysconfig/snapper", "etc/snapper/configs/root"}
)

// end is the last line of a manifest. One without it was cut off.
const end = "end"

// version of manifests, which their first line has. What another one lists of a file is not what is looked at now.
const version = 1

type head struct {
	Version int `json:"version"`
	// Unpacked is what an image takes on a file system, in bytes, in a list of its files.
	Unpacked int64 `json:"unpacked,omitempty"`
}

// readHead reads the first line of a list; an error where this agent makes no such list.
func readHead(lines *json.Decoder, what string) (head, error) {
	begin := head{}
	if err := lines.Decode(&begin); err != nil || begin.Version != version {
		return head{}, fmt.Errorf("%s is none that this agent makes (version %d)", what, version)
	}
	return begin, nil
}

// eachLine reads the others, to the last; an error where that is not there.
func eachLine[line any](lines *json.Decoder, what string, visit func(line) (last bool, err error)) error {
	for last := false; !last; {
		var read line
		err := lines.Decode(&read)
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%s is cut off", what)
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

// entry is a line of a manifest, where its names are quoted: they need not be UTF-8.
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
	// Attributes is the sum of the extended attributes.
	Attributes string `json:"attributes,omitempty"`
}

// Record writes the manifest of a tree.
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
		if slices.Contains(left, relative) {
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

// Comparison of a tree with what was recorded of it.
type Comparison struct {
	// Recorded is what Record wrote.
	Recorded io.Reader
	// Downloaded is what the tree was made from. Files that were not downloaded are compared with what was recorded alone.
	Downloaded Downloaded
	// Read is told how many bytes of files were read. Default: nobody is.
	Read func(bytes int64)
}

// With returns a Difference unless all that was recorded is in a tree as it was recorded and downloaded. More may be there.
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
		return differ("%d of %d files are not as they were written, the first of them: %s", differing, files, first)
	}
	return err
}

// RecordedBytes is the size of all files of a manifest.
func RecordedBytes(manifest io.Reader) (total int64, err error) {
	err = eachRecorded(manifest, func(recorded entry) { total += recorded.Size })
	return total, err
}

// eachRecorded reads the entries of a manifest; a Difference where it is not a whole one.
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

// differs says why what is in a tree is not what was recorded. Of the directories whose content is not copied, only that they
// are there counts.
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
