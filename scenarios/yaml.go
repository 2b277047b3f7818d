package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/result"
)

// document is a scenario as it stands in a file.
type document struct {
	Name    string        `yaml:"name"`
	Summary string        `yaml:"summary"`
	Hazard  result.Hazard `yaml:"hazard"`
	Shape   cluster.Shape `yaml:"shape"`
	Load    loadDoc       `yaml:"load"`
	Steps   []stepDoc     `yaml:"steps"`
	// How many times faster than in the incident time goes by.
	TimeScale float64 `yaml:"timescale,omitempty"`
}

type loadDoc struct {
	Stock         int           `yaml:"stock"`
	Instances     int           `yaml:"instances"`
	Buyers        int           `yaml:"buyers"`
	Requests      int           `yaml:"requests,omitempty"`
	TTL           time.Duration `yaml:"ttl"`
	MinTTL        time.Duration `yaml:"minttl,omitempty"`
	Call          time.Duration `yaml:"call"`
	RetryEvery    time.Duration `yaml:"retryevery"`
	StallAfter    time.Duration `yaml:"stallafter"`
	Linger        time.Duration `yaml:"linger,omitempty"`
	ClientRetries int           `yaml:"clientretries,omitempty"`
}

type stepDoc struct {
	Fault    string        `yaml:"fault"`
	With     any           `yaml:"with,omitempty"` // the fault's own settings
	When     whenDoc       `yaml:"when"`
	For      time.Duration `yaml:"for,omitempty"`
	Optional bool          `yaml:"optional,omitempty"`
}

type whenDoc struct {
	At     time.Duration `yaml:"at,omitempty"`
	Point  faults.Point  `yaml:"point,omitempty"`
	Nth    int           `yaml:"nth,omitempty"`
	Every  int           `yaml:"every,omitempty"`
	After  int           `yaml:"after,omitempty"`
	During int           `yaml:"during,omitempty"`
}

// MarshalYAML returns s as a file that ReadYAML reads back.
func MarshalYAML(s Scenario) ([]byte, error) {
	d := document{
		Name: s.Name, Summary: s.Summary, Hazard: s.Hazard, Shape: s.Shape, Load: loadDoc(s.Load), TimeScale: s.TimeScale,
	}
	for _, st := range s.Steps {
		w := st.When
		d.Steps = append(d.Steps, stepDoc{
			Fault: st.Do.Name(), With: settings(st.Do), For: st.For, Optional: st.Optional,
			When: whenDoc(w),
		})
	}
	out, err := yaml.MarshalWithOptions(d, yaml.IndentSequence(true))
	if err != nil {
		return nil, fmt.Errorf("write scenario %s as YAML: %w", s.Name, err)
	}
	return out, nil
}

// settings are a fault's fields, or nil when it has none to set.
func settings(f faults.Fault) any {
	if v := reflect.ValueOf(f); v.Kind() == reflect.Struct && v.NumField() > 0 && !v.IsZero() {
		return f
	}
	return nil
}

// maxFile bounds a scenario's file, in bytes.
const maxFile = 1 << 20

// ReadYAML reads a scenario from r, which is called name in errors. Unknown
// fields, unknown faults and impossible values are errors that begin with
// name:line:column.
func ReadYAML(r io.Reader, name string) (Scenario, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return Scenario{}, fmt.Errorf("read %s: %w", name, err)
	}
	if len(text) > maxFile {
		return Scenario{}, fmt.Errorf("read %s: a scenario has at most %d bytes", name, maxFile)
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return Scenario{}, located(name, err)
	}
	if second := anotherDocument(file); second != nil {
		return Scenario{}, fmt.Errorf("%s:%d:%d: another document begins: a file holds one scenario", name, second.Line, second.Column)
	}
	for _, doc := range file.Docs {
		if text := unfit(doc.Body, reflect.TypeFor[document]()); text != "" {
			return Scenario{}, fmt.Errorf("%s:%s", name, text)
		}
	}
	var d document
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&d); err != nil {
		if errors.Is(err, io.EOF) {
			return Scenario{}, fmt.Errorf("%s:1:1: the file is empty", name)
		}
		return Scenario{}, located(name, err)
	}
	s, problem := d.scenario(file)
	if problem == nil {
		if ps := s.Validate(); len(ps) > 0 {
			problem = &ps[0]
		}
	}
	if problem != nil {
		line, column := position(file, problem.Path)
		return Scenario{}, fmt.Errorf("%s:%d:%d: %w", name, line, column, problem)
	}
	return s, nil
}

// located puts the place of a YAML error before its first line.
func located(name string, err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		p := at.GetToken().Position
		return fmt.Errorf("%s:%d:%d: %s", name, p.Line, p.Column, message(err))
	}
	return fmt.Errorf("%s: %w", name, err)
}

// anotherDocument is where a second document begins, nil when there is none.
func anotherDocument(file *ast.File) *token.Position {
	seen := false
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if t := start(doc.Body); seen && t != nil {
			return t.Position
		}
		seen = true
	}
	return nil
}

// position finds where a path stands in the file; a path that isn't there is
// reported at the nearest one above it that is.
func position(file *ast.File, path string) (line, column int) {
	for p := path; p != ""; p = parent(p) {
		if n := nodeAt(file, p); n != nil && start(n) != nil {
			at := start(n).Position
			return at.Line, at.Column
		}
	}
	return 1, 1
}

func nodeAt(file *ast.File, path string) ast.Node {
	p, err := yaml.PathString("$." + path)
	if err != nil {
		return nil
	}
	n, err := p.FilterFile(file)
	if err != nil {
		return nil
	}
	return n
}

// start is the token at which a node begins; a mapping's own is its first colon.
func start(n ast.Node) *token.Token {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	return n.GetToken()
}

func parent(path string) string {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '.' || path[i] == '[' {
			return path[:i]
		}
	}
	return ""
}

// scenario turns the document into what the engine plays.
func (d document) scenario(file *ast.File) (Scenario, *Problem) {
	s := Scenario{
		Name: d.Name, Summary: d.Summary, Hazard: d.Hazard, Shape: d.Shape, Load: Load(d.Load), TimeScale: d.TimeScale,
	}
	for i, st := range d.Steps {
		f, problem := readFault(file, i, st)
		if problem != nil {
			return s, problem
		}
		s.Steps = append(s.Steps, faults.Step{When: faults.Trigger(st.When), Do: f, For: st.For, Optional: st.Optional})
	}
	return s, nil
}

// readFault finds a step's fault by name and sets what the file sets of it.
func readFault(file *ast.File, i int, st stepDoc) (faults.Fault, *Problem) {
	all := faults.All()
	at := slices.IndexFunc(all, func(f faults.Fault) bool { return f.Name() == st.Fault })
	if at < 0 {
		return nil, &Problem{fmt.Sprintf("steps[%d].fault", i), fmt.Sprintf("must be one of oversell list faults, not %q", st.Fault)}
	}
	v := reflect.New(reflect.TypeOf(all[at]))
	v.Elem().Set(reflect.ValueOf(all[at]))
	path := fmt.Sprintf("steps[%d].with", i)
	if st.With != nil {
		node := nodeAt(file, path)
		if node == nil {
			return nil, &Problem{path, "can't be read"}
		}
		if text := unfit(node, reflect.TypeOf(all[at])); text != "" {
			_, text, _ = strings.Cut(text, ": ")
			return nil, &Problem{path, "doesn't fit the fault: " + text}
		}
		if err := yaml.NodeToValue(node, v.Interface(), yaml.Strict()); err != nil {
			return nil, &Problem{path, "doesn't fit the fault: " + message(err)}
		}
	}
	if err := notNegative(v.Elem()); err != "" {
		return nil, &Problem{path + "." + err, "can't be negative"}
	}
	return v.Elem().Interface().(faults.Fault), nil
}

// message is what a YAML error says, without its place and without words of Go.
func message(err error) string {
	var unfit *yaml.TypeError
	if errors.As(err, &unfit) && unfit.Token != nil {
		return fmt.Sprintf("%q %s", unfit.Token.Value, misfit(unfit.DstType))
	}
	var at yaml.Error
	if errors.As(err, &at) {
		return at.GetMessage()
	}
	return err.Error()
}

// notNegative returns the name of a field that is, or "".
func notNegative(v reflect.Value) string {
	for i := range v.NumField() {
		f := v.Field(i)
		if f.CanInt() && f.Int() < 0 || f.CanFloat() && f.Float() < 0 {
			return yamlName(v.Type().Field(i))
		}
	}
	return ""
}
