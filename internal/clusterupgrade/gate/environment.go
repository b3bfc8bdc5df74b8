// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/env"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/resource"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/library"
)

// standardFunctions of CEL that expressions have. None of them returns more than it takes, and none takes longer than its costs say. An operator
// or function that concatenates, repeats, formats, splits or matches must not be added: a limit of costs is no limit of memory.
var standardFunctions = []string{
	operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional, operators.NotStrictlyFalse,
	operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
	operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
	operators.Index, operators.In, overloads.Size, overloads.Contains, overloads.StartsWith, overloads.EndsWith,
	overloads.TypeConvertBool, overloads.TypeConvertInt, overloads.TypeConvertUint, overloads.TypeConvertDouble,
	overloads.TypeConvertTimestamp, overloads.TypeConvertDuration, overloads.TypeConvertType, overloads.TypeConvertDyn,
}

// environment of expressions: variable self, and a subset of what Kubernetes offers. It does not grow with the libraries it is made from.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	subset := env.NewLibrarySubset()
	for _, name := range standardFunctions {
		subset.AddIncludedFunctions(env.NewFunction(name))
	}
	made, err := cel.NewCustomEnv(
		cel.StdLib(cel.StdLibSubset(subset)),
		cel.OptionalTypes(cel.OptionalTypesVersion(0)),
		library.SemverLib(library.SemverVersion(1)),
		library.Quantity(),
		cel.ClearMacros(), cel.Macros(cel.HasMacro, cel.AllMacro, cel.ExistsMacro, cel.ExistsOneMacro, cel.FilterMacro),
		addition(), boundedQuantity(), boundedIsQuantity(),
		cel.Variable("self", cel.DynType),
		cel.CustomTypeAdapter(adapter{}),
		cel.HomogeneousAggregateLiterals(), cel.CrossTypeNumericComparisons(true), cel.DefaultUTCTimeZone(true),
		cel.EnableHiddenAccumulatorName(true),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals()),
		cel.ParserRecursionLimit(maxDepth), cel.ParserExpressionSizeLimit(maxExpression),
	)
	if err != nil {
		return nil, fmt.Errorf("making the environment of CEL: %w", err)
	}
	return made, nil
})

// addition of what has a fixed size. CEL's own decides by the values, and would concatenate texts and lists that the check of types does not know of.
// A list is only added to by macro filter, which makes it for itself.
func addition() cel.EnvOption {
	element := cel.TypeParamType("A")
	add := func(id string, left, right, result *cel.Type) cel.FunctionOpt {
		return cel.Overload(id, []*cel.Type{left, right}, result)
	}
	return cel.Function(operators.Add,
		add(overloads.AddInt64, cel.IntType, cel.IntType, cel.IntType),
		add(overloads.AddUint64, cel.UintType, cel.UintType, cel.UintType),
		add(overloads.AddDouble, cel.DoubleType, cel.DoubleType, cel.DoubleType),
		add(overloads.AddDurationDuration, cel.DurationType, cel.DurationType, cel.DurationType),
		add(overloads.AddDurationTimestamp, cel.DurationType, cel.TimestampType, cel.TimestampType),
		add(overloads.AddTimestampDuration, cel.TimestampType, cel.DurationType, cel.TimestampType),
		add(overloads.AddList, cel.ListType(element), cel.ListType(element), cel.ListType(element)),
		cel.SingletonBinaryBinding(func(left, right ref.Val) ref.Val {
			switch left.(type) {
			case types.Int, types.Uint, types.Double, types.Duration, types.Timestamp, traits.MutableLister:
				return left.(traits.Adder).Add(right)
			}
			return types.MaybeNoSuchOverloadErr(left)
		}, traits.AdderType))
}

// maxQuantity is how many characters a quantity has, and maxExponent how many its exponent has, with its sign. The arithmetic of such a quantity
// takes a bounded time.
const maxQuantity, maxExponent = 64, 3

// quantity of a text, if it is one whose arithmetic is bounded.
func quantity(text ref.Val) (resource.Quantity, error) {
	of, isText := text.(types.String)
	_, exponent, _ := strings.Cut(strings.ToLower(string(of[:min(len(of), maxQuantity)])), "e")
	if !isText || len(of) > maxQuantity || len(exponent) > maxExponent {
		return resource.Quantity{}, resource.ErrFormatWrong
	}
	return resource.ParseQuantity(string(of))
}

func boundedQuantity() cel.EnvOption {
	return cel.Function("quantity", cel.Overload("string_to_quantity", []*cel.Type{cel.StringType}, apiservercel.QuantityType,
		cel.UnaryBinding(func(text ref.Val) ref.Val {
			parsed, err := quantity(text)
			if err != nil {
				return types.WrapErr(err)
			}
			return apiservercel.Quantity{Quantity: &parsed}
		})))
}

func boundedIsQuantity() cel.EnvOption {
	return cel.Function("isQuantity", cel.Overload("is_quantity_string", []*cel.Type{cel.StringType}, cel.BoolType,
		cel.UnaryBinding(func(text ref.Val) ref.Val {
			_, err := quantity(text)
			return types.Bool(err == nil)
		})))
}

// adapter gives expressions what JSON is decoded to, but for long texts.
type adapter struct{}

func (a adapter) NativeToValue(value any) ref.Val {
	switch of := value.(type) {
	case string:
		if len(of) > maxString {
			return types.WrapErr(errLongText)
		}
	case []any:
		return types.NewDynamicList(a, of)
	case map[string]any:
		return types.NewStringInterfaceMap(a, of)
	}
	return types.DefaultTypeAdapter.NativeToValue(value)
}

// costs of comparing lists and maps: that of looking at each value in them. CEL takes it for that of the number of elements, and for none at all
// where the check of types does not know what is looked at, as with self.
type costs struct{}

func (costs) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	if len(args) != 2 {
		return nil
	}
	cost, left, right := uint64(1), isComposed(args[0]), isComposed(args[1])
	switch function {
	case operators.Equals, operators.NotEquals:
		if !left || !right {
			return nil
		}
		cost += valuesOf(args[0]) + valuesOf(args[1])
	case operators.In:
		if list, isList := args[1].(traits.Lister); isList && !left {
			cost += uint64(list.Size().(types.Int))
		} else if isList {
			cost += valuesOf(list)
		}
	default:
		return nil
	}
	return &cost
}

func valuesOf(value ref.Val) uint64 {
	return uint64(valuesIn(value, maxCosts))
}

// isComposed reports whether a value may have others in it.
func isComposed(value ref.Val) bool {
	switch value.(type) {
	case traits.Lister, traits.Mapper, *types.Optional:
		return true
	}
	return false
}

// valuesIn a value, as far as it takes to see that they are more than most.
func valuesIn(value any, most int) int {
	switch of := value.(type) {
	case []any:
		return valuesAmong(slices.Values(of), most)
	case []ref.Val:
		return valuesAmong(slices.Values(of), most)
	case map[string]any:
		return valuesAmong(maps.Values(of), most)
	case *types.Optional:
		if of.HasValue() {
			return 1 + valuesIn(of.GetValue(), most-1)
		}
	case traits.Lister:
		return valuesIn(of.Value(), most)
	case traits.Mapper:
		return valuesIn(of.Value(), most)
	}
	return 1
}

func valuesAmong[V any](elements iter.Seq[V], most int) int {
	count := 1
	for element := range elements {
		if count > most {
			break
		}
		count += valuesIn(element, most-count)
	}
	return count
}
