// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"bufio"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
)

// Sums are the regular files of an image, as they were downloaded.
type Sums struct {
	// Files by NameOf their paths.
	Files map[uint64]FileSum
	// Unpacked is what the image takes on a file system, in bytes.
	Unpacked int64
}

// FileSum is a regular file of an image's layers.
type FileSum struct {
	// Name is NameOf its path. The paths themselves would take most of the memory.
	Name uint64 `json:"name"`
	Size int64  `json:"size"`
	// Time is when it was changed last, in seconds of Unix: file systems and archives do not keep the same fractions.
	Time int64  `json:"time"`
	Sum  string `json:"sum"`
}

// sumsEnd is the last line of a list of sums. One without it was cut off.
type sumsEnd struct {
	End bool `json:"end"`
}

type sumsLine struct {
	FileSum
	sumsEnd
}

// NameOf a path beneath the root of an image.
func NameOf(path string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(filepath.Join("/", path)))
	return hash.Sum64()
}

// Write lists the files.
func (s Sums) Write(to io.Writer) error {
	buffer := bufio.NewWriter(to)
	lines := json.NewEncoder(buffer)
	if err := lines.Encode(head{Version: version, Unpacked: s.Unpacked}); err != nil {
		return err
	}
	for _, each := range s.Files {
		if err := lines.Encode(each); err != nil {
			return err
		}
	}
	return errors.Join(lines.Encode(sumsEnd{End: true}), buffer.Flush())
}

// ReadUnpacked reads what an image takes from the list that Write wrote to a file.
func ReadUnpacked(path string) (int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	begin, err := readHead(json.NewDecoder(file), downloads)
	return begin.Unpacked, err
}

// ReadSums reads what Write wrote to a file. The error is that of os.Open where there is no file, and a Difference where it is no list.
func ReadSums(path string) (Sums, error) {
	file, err := os.Open(path)
	if err != nil {
		return Sums{}, err
	}
	defer func() { _ = file.Close() }()
	lines := json.NewDecoder(file)
	begin, err := readHead(lines, downloads)
	if err != nil {
		return Sums{}, err
	}
	read := Sums{Files: map[uint64]FileSum{}, Unpacked: begin.Unpacked}
	err = eachLine(lines, downloads, func(line sumsLine) (last bool, err error) {
		if !line.End {
			read.Files[line.Name] = line.FileSum
		}
		return line.End, nil
	})
	if err != nil {
		return Sums{}, err
	}
	return read, nil
}

// downloads is what a list of sums is called in messages.
const downloads = "the list of the files that were downloaded"

// differs says why a file that is in a tree as it was recorded is not the one that was downloaded: the tree may have been spoiled before
// it was recorded. One that has another size or time was changed by a hook, and is the hook's business.
func (s Sums) differs(root string, recorded entry) string {
	downloaded, found := s.Files[NameOf(recorded.Path)]
	if !found || recorded.Sum == "" || recorded.Size != downloaded.Size {
		return ""
	}
	info, err := os.Lstat(filepath.Join(root, recorded.Path))
	if err != nil {
		return "cannot be read"
	}
	if info.ModTime().Unix() != downloaded.Time || recorded.Sum == downloaded.Sum {
		return ""
	}
	return "is not what was downloaded"
}
