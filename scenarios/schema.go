package scenarios

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/result"
)

// yamlName is how a field is called in a file.
func yamlName(f reflect.StructField) string {
	if tag, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); tag != "" {
		return tag
	}
	return strings.ToLower(f.Name)
}

// Schema returns the JSON Schema of a scenario's file, made from the types
// that read it and from the lists of hazards, faults and points.
func Schema() ([]byte, error) {
	s := object(reflect.TypeOf(document{}))
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "oversell scenario"
	s["required"] = []string{"name", "summary", "hazard", "shape", "load", "steps"}
	props := s["properties"].(map[string]any)
	props["hazard"] = hazards()
	props["shape"] = map[string]any{"enum": []cluster.Shape{cluster.Single, cluster.Sentinel, cluster.Quorum}}
	props["steps"].(map[string]any)["items"] = stepSchema()
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the schema: %w", err)
	}
	return append(out, '\n'), nil
}

func hazards() map[string]any {
	var each []any
	for _, h := range result.Hazards() {
		each = append(each, map[string]any{"const": h.Hazard, "description": h.Summary})
	}
	return map[string]any{"oneOf": each}
}

// stepSchema has a variant for each fault, with that fault's own settings.
func stepSchema() map[string]any {
	step := object(reflect.TypeOf(stepDoc{}))
	step["required"] = []string{"fault", "when"}
	props := step["properties"].(map[string]any)
	props["when"].(map[string]any)["properties"].(map[string]any)["point"] = map[string]any{"enum": faults.Points()}
	var names, variants []any
	for _, f := range faults.All() {
		names = append(names, map[string]any{"const": f.Name(), "description": f.Summary()})
		variants = append(variants, map[string]any{
			"if":   map[string]any{"properties": map[string]any{"fault": map[string]any{"const": f.Name()}}},
			"then": map[string]any{"properties": map[string]any{"with": object(reflect.TypeOf(f))}},
		})
	}
	props["fault"] = map[string]any{"oneOf": names}
	step["allOf"] = variants
	return step
}

// object describes a struct whose fields are all optional.
func object(t reflect.Type) map[string]any {
	props := map[string]any{}
	for i := range t.NumField() {
		f := t.Field(i)
		props[yamlName(f)] = typeSchema(f.Type)
	}
	return map[string]any{"type": "object", "properties": props, "additionalProperties": false}
}

func typeSchema(t reflect.Type) map[string]any {
	if t == reflect.TypeOf(time.Duration(0)) {
		return map[string]any{"type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`}
	}
	switch t.Kind() {
	case reflect.Int:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Float64:
		return map[string]any{"type": "number", "minimum": 0}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Slice:
		return map[string]any{"type": "array"}
	case reflect.Struct:
		return object(t)
	case reflect.Interface:
		return map[string]any{"type": "object"}
	}
	return map[string]any{"type": "string"}
}
