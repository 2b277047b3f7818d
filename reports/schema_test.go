package reports_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/reports"
)

// xmllint validates a document, and returns what it says of an invalid one.
func xmllint(t *testing.T, schema, doc string) (invalid string) {
	t.Helper()
	cmd := exec.Command("xmllint", "--noout", "--nonet", "--huge", "--schema", filepath.Join("testdata/schema", schema), "-")
	cmd.Stdin = strings.NewReader(doc)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	if err == nil {
		return ""
	}
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.ExitCode(), "xmllint: %s", &stderr) // 3: read, and invalid
	return stderr.String()
}

func needXMLLint(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("xmllint"); err == nil {
		return
	}
	const what = "xmllint isn't installed (Debian: libxml2-utils)"
	if slices.Contains(strings.Split(os.Getenv("OVERSELL_REQUIRE"), ","), "xmllint") {
		t.Fatal(what)
	}
	t.Skip(what)
}

var junitSchemas = []string{"junit-jenkins.xsd", "junit-gitlab.xsd"}

func TestJUnitValidatesAgainstTheSchemas(t *testing.T) {
	t.Parallel()
	needXMLLint(t)
	for _, schema := range junitSchemas {
		for _, c := range cases() {
			assert.Empty(t, xmllint(t, schema, write(t, reports.JUnit(), c.runs, reports.Options{})), "%s/%s", schema, c.name)
		}
	}
}

// A schema that takes anything would prove nothing.
func TestTheJUnitSchemasRefuse(t *testing.T) {
	t.Parallel()
	needXMLLint(t)
	good := write(t, reports.JUnit(), cases()[0].runs, reports.Options{})
	for what, change := range map[string][2]string{
		"an element that nobody knows":     {"<system-out>", "<system-output></system-output><system-out>"},
		"a test case without a name":       {`name="setnx-expire-del" time=`, `time=`},
		"a class without a name":           {`classname="oversell.ttl-expiry"`, `classname=""`},
		"a time that is none":              {`time="3.214"`, `time="3.2 s"`},
		"two test cases of one name":       {`name="fenced" time=`, `name="setnx-expire-del" time=`},
		"a count that is none":             {`tests="1"`, `tests="one"`},
		"properties without a value":       {` value="42"`, ``},
		"a test case outside of any suite": {"</testsuites>", `<testcase name="x" classname="y"></testcase></testsuites>`},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		require.NotEqual(t, good, bad, what)
		var refused string
		for _, schema := range junitSchemas {
			refused += xmllint(t, schema, bad)
		}
		assert.NotEmpty(t, refused, what)
	}
}

func TestSARIFValidatesAgainstItsSchema(t *testing.T) {
	t.Parallel()
	for _, c := range cases() {
		doc, err := sarif.FromString(write(t, reports.SARIF(), c.runs, reports.Options{}), sarif.WithStrictValidation())
		require.NoError(t, err, c.name)
		assert.NoError(t, doc.Validate(), c.name)
	}
	broken, err := sarif.FromString(write(t, reports.SARIF(), cases()[1].runs, reports.Options{}))
	require.NoError(t, err)
	broken.Runs[0].Results[0].Level = "dreadful"
	assert.Error(t, broken.Validate(), "a schema that takes anything would prove nothing")
}
