// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// source is a package as it is, without its tests.
type source struct {
	folder   string // from the module's root
	name     string
	fileSet  *token.FileSet
	files    map[string]*ast.File // by their paths from the module's root
	contents map[string][]byte
	imports  types.Importer
	mutants  []mutant
	switched map[string][]byte // the files with their switches
}

// readPackage reads the files of a folder that are compiled here and are not tests, and their mutants.
func readPackage(ctx context.Context, root, folder string) (*source, error) {
	paths, exports, err := list(ctx, root, folder)
	if err != nil {
		return nil, err
	}
	s := &source{folder: folder, fileSet: token.NewFileSet(), files: map[string]*ast.File{}, contents: map[string][]byte{}, switched: map[string][]byte{}}
	s.imports = importer.ForCompiler(s.fileSet, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, path := range paths {
		if s.contents[path], err = os.ReadFile(filepath.Join(root, path)); err != nil {
			return nil, err
		}
		if s.files[path], err = parser.ParseFile(s.fileSet, path, s.contents[path], parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		s.name = s.files[path].Name.Name
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	if err := s.check(s.files, info); err != nil {
		return nil, fmt.Errorf("%s without a change: %w", folder, err)
	}
	for _, path := range paths {
		f := finder{
			path: path, content: s.contents[path], lines: strings.Split(string(s.contents[path]), "\n"),
			files: s.fileSet, info: info, before: len(s.mutants),
		}
		for _, each := range s.files[path].Decls {
			f.declaration(each)
		}
		s.mutants = append(s.mutants, f.found...)
		s.switched[path] = f.switchedSource()
	}
	for i, m := range s.mutants {
		s.mutants[i].compiles = s.compiles(m)
	}
	return s, nil
}

// compiles reports whether a package does with one of its changes.
func (s *source) compiles(m mutant) bool {
	files := maps.Clone(s.files)
	changed, err := parser.ParseFile(token.NewFileSet(), m.file, m.apply(s.contents[m.file]), parser.SkipObjectResolution)
	files[m.file] = changed
	return err == nil && s.check(files, nil) == nil
}

func (s *source) check(files map[string]*ast.File, info *types.Info) error {
	config := types.Config{Importer: s.imports}
	_, err := config.Check(s.folder, s.fileSet, slices.Collect(maps.Values(files)), info)
	return err
}

// list returns the files of a folder's package, and where the compiler has left what other packages export.
func list(ctx context.Context, root, folder string) ([]string, map[string]string, error) {
	command := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-json=ImportPath,Export,GoFiles", "./"+folder)
	command.Dir, command.Stderr = root, os.Stderr
	listed, err := command.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("listing the files of %s: %w", folder, err)
	}
	var paths []string
	exports := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(listed)); decoder.More(); {
		var one struct {
			ImportPath, Export string
			GoFiles            []string
		}
		if err := decoder.Decode(&one); err != nil {
			return nil, nil, err
		}
		exports[one.ImportPath], paths = one.Export, nil
		for _, name := range one.GoFiles {
			paths = append(paths, filepath.Join(folder, name)) // those of the last one stay: dependencies come first
		}
	}
	return paths, exports, nil
}
