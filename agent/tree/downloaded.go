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

// Downloaded lists the regular files of an image, as they were downloaded.
type Downloaded struct {
	// Files by NameOf their paths.
	Files map[uint64]FileSum
	// Unpacked is the space that the image takes on a file system, in bytes.
	Unpacked int64
}

// FileSum is a regular file of an image's layers.
type FileSum struct {
	// Name is NameOf its path. The paths themselves would take most of the memory.
	Name uint64 `json:"name"`
	Size int64  `json:"size"`
	// Time is the modification time in Unix seconds: archives and file systems differ in their fractions.
	Time int64  `json:"time"`
	Sum  string `json:"sum"`
}

// downloadedEnd is the last line of the list. Without it the list is truncated.
type downloadedEnd struct {
	End bool `json:"end"`
}

type downloadedLine struct {
	FileSum
	downloadedEnd
}

// NameOf returns a hash of a path beneath the root of an image.
func NameOf(path string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(filepath.Join("/", path)))
	return hash.Sum64()
}

// Write lists the files.
func (d Downloaded) Write(to io.Writer) error {
	buffer := bufio.NewWriter(to)
	lines := json.NewEncoder(buffer)
	if err := lines.Encode(head{Version: version, Unpacked: d.Unpacked}); err != nil {
		return err
	}
	for _, each := range d.Files {
		if err := lines.Encode(each); err != nil {
			return err
		}
	}
	return errors.Join(lines.Encode(downloadedEnd{End: true}), buffer.Flush())
}

// ReadDownloaded reads a file that Write has written. If there is no file, it returns the error of os.Open. A damaged list is not a
// Difference, since it proves nothing about the snapshot.
func ReadDownloaded(path string) (Downloaded, error) {
	file, err := os.Open(path)
	if err != nil {
		return Downloaded{}, err
	}
	defer func() { _ = file.Close() }()
	lines := json.NewDecoder(file)
	begin, err := readHead(lines, downloads)
	if err != nil {
		return Downloaded{}, err
	}
	read := Downloaded{Files: map[uint64]FileSum{}, Unpacked: begin.Unpacked}
	err = eachLine(lines, downloads, func(line downloadedLine) (last bool, err error) {
		if !line.End {
			read.Files[line.Name] = line.FileSum
		}
		return line.End, nil
	})
	if err != nil {
		return Downloaded{}, err
	}
	return read, nil
}

// downloads is the name of the list in messages.
const downloads = "the list of the files that were downloaded"

// differs returns why a file that matches its record is not the file that was downloaded: the tree may have been corrupted before it was
// recorded. A file of another size or time was changed by a hook, which is allowed.
func (d Downloaded) differs(root string, recorded entry) string {
	downloaded, found := d.Files[NameOf(recorded.Path)]
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
