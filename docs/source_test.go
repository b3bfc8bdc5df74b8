// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// constants returns the string constants of a folder, by their names. Constants cannot be listed at run
// time, so the source is read.
func constants(folder string) map[string]string {
	GinkgoHelper()
	found := map[string]string{}
	for _, file := range parse(folder) {
		for _, declaration := range file.Decls {
			group, isGroup := declaration.(*ast.GenDecl)
			if !isGroup || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				addConstants(found, spec.(*ast.ValueSpec))
			}
		}
	}
	Expect(found).NotTo(BeEmpty(), folder)
	return found
}

func addConstants(found map[string]string, spec *ast.ValueSpec) {
	GinkgoHelper()
	for i, value := range spec.Values {
		if text, isText := stringLiteral(value); isText {
			found[spec.Names[i].Name] = text
		}
	}
}

// calls returns the string literals that are passed at a place to functions whose names are accepted.
func calls(folder string, argument int, accepted func(name string) bool) []string {
	GinkgoHelper()
	found := []string{}
	for _, file := range parse(folder) {
		ast.Inspect(file, func(node ast.Node) bool {
			call, isCall := node.(*ast.CallExpr)
			if !isCall || len(call.Args) <= argument {
				return true
			}
			function, isSelector := call.Fun.(*ast.SelectorExpr)
			if !isSelector || !accepted(function.Sel.Name) {
				return true
			}
			if text, isText := stringLiteral(call.Args[argument]); isText {
				found = append(found, text)
			}
			return true
		})
	}
	Expect(found).NotTo(BeEmpty(), folder)
	return found
}

func parse(folder string) []*ast.File {
	GinkgoHelper()
	paths, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
	Expect(err).NotTo(HaveOccurred())
	Expect(paths).NotTo(BeEmpty(), folder)
	files := []*ast.File{}
	for _, path := range paths {
		if matched, _ := filepath.Match("*_test.go", filepath.Base(path)); matched {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		Expect(err).NotTo(HaveOccurred())
		files = append(files, file)
	}
	return files
}

func stringLiteral(expression ast.Expr) (string, bool) {
	literal, isLiteral := expression.(*ast.BasicLit)
	if !isLiteral || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}

// valuesOf the constants whose names are accepted, sorted and each once.
func valuesOf(all map[string]string, accepted func(name string) bool) []string {
	values := map[string]struct{}{}
	for name, value := range all {
		if accepted(name) {
			values[value] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(values))
}

func page(name string) string {
	GinkgoHelper()
	content, err := os.ReadFile(name)
	Expect(err).NotTo(HaveOccurred())
	return string(content)
}
