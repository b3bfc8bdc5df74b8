// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// root of the repository.
const root = "../.."

// listsOf are the calls of labelMapper, and the lists of Machines, ElementalMachines, ElementalHosts and ElementalHostUpgrades in a
// file that are given no field, by the variables that they are read into.
func listsOf(file *ast.File) []string {
	found := []string{}
	for _, declared := range file.Decls {
		found = append(found, listsIn(declared)...)
	}
	return found
}

// labelMapper is Cluster API's way from a Cluster to its objects. It lists by label, which walks all of the namespace.
const labelMapper = "ClusterToTypedObjectsMapper"

// listsIn is listsOf for one function, as names are reused.
func listsIn(function ast.Decl) []string {
	many := map[string]bool{}
	ast.Inspect(function, func(node ast.Node) bool {
		assignment, isAssignment := node.(*ast.AssignStmt)
		if !isAssignment || len(assignment.Lhs) != 1 || len(assignment.Rhs) != 1 {
			return true
		}
		name, isName := assignment.Lhs[0].(*ast.Ident)
		if isName && isMany(assignment.Rhs[0]) {
			many[name.Name] = true
		}
		return true
	})
	found := []string{}
	ast.Inspect(function, func(node ast.Node) bool {
		call, isCall := node.(*ast.CallExpr)
		if !isCall || len(call.Args) < 2 {
			return true
		}
		called, isSelector := call.Fun.(*ast.SelectorExpr)
		if isSelector && called.Sel.Name == labelMapper {
			found = append(found, called.Sel.Name)
		}
		into, isName := call.Args[1].(*ast.Ident)
		if isSelector && isName && called.Sel.Name == "List" && many[into.Name] && !selectsField(call) {
			found = append(found, into.Name)
		}
		return true
	})
	return found
}

// isMany reports whether an expression makes a list of a kind of which there is one for each node.
func isMany(expression ast.Expr) bool {
	address, isAddress := expression.(*ast.UnaryExpr)
	if !isAddress {
		return false
	}
	literal, isLiteral := address.X.(*ast.CompositeLit)
	if !isLiteral {
		return false
	}
	kind, isSelector := literal.Type.(*ast.SelectorExpr)
	if !isSelector {
		return false
	}
	switch kind.Sel.Name {
	case "MachineList", "ElementalMachineList", "ElementalHostList", "ElementalHostUpgradeList":
		return true
	}
	return false
}

// selectsField reports whether a call is given a field to select by, or options that its caller has chosen.
func selectsField(call *ast.CallExpr) bool {
	selects := call.Ellipsis.IsValid()
	ast.Inspect(call, func(node ast.Node) bool {
		literal, isLiteral := node.(*ast.CompositeLit)
		if !isLiteral {
			return true
		}
		if kind, isSelector := literal.Type.(*ast.SelectorExpr); isSelector {
			selects = selects || strings.HasPrefix(kind.Sel.Name, "MatchingFields")
		}
		return true
	})
	return selects
}

// liveLists are made at the API server, which selects by label, where a stale read would end in a Machine that is replaced.
var liveLists = []string{"internal/owner/machines.go"}

var _ = It("No list of what there is for each node is made without an index", func() {
	found := map[string][]string{}
	for _, folder := range []string{"controllers", "hooks", "internal"} {
		Expect(filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.HasSuffix(path, "/metrics.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			relative, err := filepath.Rel(root, path)
			if lists := listsOf(file); len(lists) > 0 {
				found[relative] = lists
			}
			return err
		})).To(Succeed())
	}
	for _, file := range liveLists {
		Expect(found).To(HaveKey(file), "it needs no exception any more")
		delete(found, file)
	}
	Expect(found).To(BeEmpty(), "read them through a View, or by an index")
})
