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

// Downloaded are the regular files of an image, as they were downloaded.
type Downloaded struct {
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

// downloadedEnd is the last line of the list. A list without it was cut off.
type downloadedEnd struct {
	End bool `json:"end"`
}

type downloadedLine struct {
	FileSum
	downloadedEnd
}

// NameOf a path beneath the root of an image.
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

// ReadDownloaded reads what Write wrote to a file. The error is that of os.Open where there is no file. A list that is damaged says
// nothing of the snapshot that is compared with it: that is no Difference.
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

// downloads is what the list is called in messages.
const downloads = "the list of the files that were downloaded"

// differs says why a file that is in a tree as it was recorded is not the one that was downloaded: the tree may have been spoiled before
// it was recorded. One that has another size or time was changed by a hook, and is the hook's business.
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
