// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// cloudInitFile is a file in write_files.
type cloudInitFile struct {
	Path        string   `yaml:"path"`
	Owner       string   `yaml:"owner"`
	Permissions resolved `yaml:"permissions"`
	Encoding    string   `yaml:"encoding"`
	Content     string   `yaml:"content"`
	Append      bool     `yaml:"append"`
	// Defer writes the file after the users are added, one of which may own it.
	Defer bool `yaml:"defer"`
	// Rest are the unsupported keys.
	Rest map[string]yaml.Node `yaml:",inline"`
}

const (
	// defaultFileMode is cloud-init's default for files.
	defaultFileMode = 0o644
	// maxFileMode has all permissions, and the bits for setuid, setgid and sticky.
	maxFileMode = 0o7777
	// maxContent bounds the content of all files, in bytes. The Secret of the data is smaller than 1.5 MiB, but compressed files are not, and
	// /oem, where they are written to, is a partition of 64 MiB by default.
	maxContent = 8 << 20
	rootName   = "root"
)

func (d *userData) addFiles(files []cloudInitFile) error {
	left := maxContent
	for i, file := range files {
		if file.Path == "" {
			return fmt.Errorf("write_files: file %d has no path", i+1)
		}
		content, err := file.convert(left)
		if err != nil {
			return fmt.Errorf("write_files: %s: %w", file.Path, err)
		}
		left -= len(content.Content)
		for key := range file.Rest {
			d.ignored = append(d.ignored, "write_files["+file.Path+"]."+key)
		}
		if file.Defer {
			d.deferred = append(d.deferred, content)
		} else {
			d.files = append(d.files, content)
		}
	}
	return nil
}

// convert decodes a file of not more bytes than are left for it.
func (f cloudInitFile) convert(left int) (yipContent, error) {
	if f.Append {
		return yipContent{}, errors.New("append is not supported on Elemental hosts: write the whole file")
	}
	if _, ok := f.Rest["source"]; ok {
		return yipContent{}, errors.New("source is not supported on Elemental hosts: write the content")
	}
	mode, err := fileMode(f.Permissions.Node)
	if err != nil {
		return yipContent{}, err
	}
	content, err := f.decode(left)
	return yipContent{Path: path.Join("/", f.Path), Mode: mode, Owner: owner(f.Owner), Content: content}, err
}

// fileMode decodes permissions as cloud-init does: a number, which YAML may write as an octal one, is the mode, and text has octal digits.
func fileMode(permissions yaml.Node) (uint32, error) {
	mode, err := uint32(defaultFileMode), error(nil)
	switch permissions.ShortTag() {
	case "", "!!null":
	case "!!int":
		err = permissions.Decode(&mode)
	default:
		var parsed uint64
		parsed, err = strconv.ParseUint(strings.TrimPrefix(permissions.Value, "0o"), 8, 32)
		mode = uint32(parsed)
	}
	if err != nil || mode > maxFileMode {
		return 0, fmt.Errorf("permissions %q are not an octal number up to %o", permissions.Value, maxFileMode)
	}
	return mode, nil
}

// owner is the user and the group that own a file. The engine takes a user's own group where none is named, cloud-init leaves root's.
func owner(named string) string {
	user, group, _ := strings.Cut(named, ":")
	return nameOf(user) + ":" + nameOf(group)
}

func nameOf(name string) string {
	name = strings.TrimSpace(name)
	if name == "-1" || strings.EqualFold(name, "none") {
		name = ""
	}
	return cmp.Or(name, rootName)
}

// decode returns the bytes of the file. cloud-init takes an unknown encoding for none.
func (f cloudInitFile) decode(left int) ([]byte, error) {
	content := []byte(f.Content)
	packed := false
	switch encoding := strings.ToLower(strings.TrimSpace(f.Encoding)); encoding {
	case "gz", "gzip":
		packed = true
	case "b64", "base64", "gz+b64", "gz+base64", "gzip+b64", "gzip+base64":
		packed = strings.HasPrefix(encoding, "gz")
		decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(f.Content), ""))
		if err != nil {
			return nil, fmt.Errorf("its content is not encoded as %s: %w", encoding, err)
		}
		content = decoded
	}
	if packed {
		var err error
		if content, err = unpack(content, left); err != nil {
			return nil, err
		}
	}
	if len(content) > left {
		return nil, fmt.Errorf("the files are larger than %d MiB altogether, unpacked", maxContent>>20)
	}
	return content, nil
}

// unpack returns not more than one byte more than are left.
func unpack(packed []byte, left int) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("its content is not compressed with gzip: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(reader, int64(left)+1))
	if err != nil {
		return nil, fmt.Errorf("unpacking its content: %w", err)
	}
	return content, nil
}
