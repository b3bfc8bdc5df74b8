// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one change of a file.
type mutant struct {
	file        string // from the module's root
	line        int
	source      string // the line as it is
	kind        string
	begin, end  int // what is replaced, in bytes
	replacement string
}

// key identifies a mutant when lines are added or removed above it.
func (m mutant) key() string { return strings.Join([]string{m.file, m.kind, m.source}, "\t") }

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", m.file, m.line, m.kind, m.source)
}

func (m mutant) apply(content []byte) []byte {
	return slices.Concat(content[:m.begin], []byte(m.replacement), content[m.end:])
}

var (
	negated  = map[token.Token]token.Token{token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR}
	boundary = map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}
	counted  = map[token.Token]token.Token{token.INC: token.DEC, token.DEC: token.INC}
)

// mutantsOf reads the mutants of a file, in the order of its lines.
func mutantsOf(root, path string) ([]mutant, error) {
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, content, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := finder{path: path, content: content, lines: strings.Split(string(content), "\n"), files: files}
	ast.Inspect(parsed, f.visit)
	return f.found, nil
}

type finder struct {
	path    string
	content []byte
	lines   []string
	files   *token.FileSet
	found   []mutant
}

func (f *finder) visit(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.IncDecStmt:
		f.add(counted[n.Tok].String(), n.TokPos, n.TokPos+2, counted[n.Tok].String())
	case *ast.IfStmt:
		f.condition(n.Cond)
	case *ast.SwitchStmt:
		f.cases(n)
	}
	return true
}

func (f *finder) binary(n *ast.BinaryExpr) {
	if n.Op == token.LAND || n.Op == token.LOR {
		f.add("without the left side", n.Pos(), n.End(), f.text(n.Y))
		f.add("without the right side", n.Pos(), n.End(), f.text(n.X))
	}
	if to, ok := negated[n.Op]; ok {
		f.operator(n, to)
	}
	if to, ok := boundary[n.Op]; ok {
		f.operator(n, to)
	}
}

func (f *finder) operator(n *ast.BinaryExpr, to token.Token) {
	f.add(fmt.Sprintf("%s instead of %s", to, n.Op), n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), to.String())
}

// condition negates what is neither compared nor combined: that is done where it is.
func (f *finder) condition(n ast.Expr) {
	if _, isBinary := n.(*ast.BinaryExpr); !isBinary {
		f.add("negated", n.Pos(), n.End(), "!("+f.text(n)+")")
	}
}

// cases looks at those that are conditions.
func (f *finder) cases(n *ast.SwitchStmt) {
	if n.Tag != nil {
		return
	}
	for _, statement := range n.Body.List {
		for _, expression := range statement.(*ast.CaseClause).List {
			f.condition(expression)
		}
	}
}

func (f *finder) text(n ast.Node) string {
	return string(f.content[f.offset(n.Pos()):f.offset(n.End())])
}

func (f *finder) offset(pos token.Pos) int { return f.files.Position(pos).Offset }

func (f *finder) add(kind string, begin, end token.Pos, replacement string) {
	line := f.files.Position(begin).Line
	f.found = append(f.found, mutant{
		file: f.path, line: line, source: strings.TrimSpace(f.lines[line-1]), kind: kind,
		begin: f.offset(begin), end: f.offset(end), replacement: replacement,
	})
}
