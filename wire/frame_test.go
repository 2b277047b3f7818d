package wire

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// frames are whole frames of every type, as servers send them.
var frames = []string{
	"+OK\r\n",
	"+\r\n",
	"+a\nb\rc\r\n",
	"-ERR unknown command 'foo'\r\n",
	":1000\r\n",
	":-1\r\n",
	"$5\r\nhello\r\n",
	"$0\r\n\r\n",
	"$4\r\n\r\n\r\n\r\n",
	"$-1\r\n",
	"*0\r\n",
	"*-1\r\n",
	"*2\r\n$3\r\nfoo\r\n:1\r\n",
	"*2\r\n*1\r\n*0\r\n*2\r\n+a\r\n-b\r\n",
	"_\r\n",
	"#t\r\n",
	",3.14\r\n",
	",inf\r\n",
	"(3492890328409238509324850943850943825024385\r\n",
	"!21\r\nSYNTAX invalid syntax\r\n",
	"=15\r\ntxt:Some string\r\n",
	"%2\r\n+first\r\n:1\r\n+second\r\n*1\r\n:2\r\n",
	"%0\r\n",
	"~3\r\n+a\r\n+b\r\n#f\r\n",
	">3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$5\r\nhello\r\n",
	"|1\r\n+key-popularity\r\n%1\r\n+a\r\n,0.19\r\n*2\r\n:1\r\n:2\r\n",
	"|0\r\n+OK\r\n",
	"|1\r\n+a\r\n+b\r\n|1\r\n+c\r\n+d\r\n:1\r\n",
	"*3\r\n:1\r\n:2\r\n|1\r\n+ttl\r\n:3600\r\n:3\r\n",
	"*1\r\n>1\r\n+a\r\n",
	"$?\r\n;4\r\nHell\r\n;5\r\no wor\r\n;1\r\nd\r\n;0\r\n",
	"*?\r\n:1\r\n*?\r\n+a\r\n.\r\n:3\r\n.\r\n",
	"%?\r\n+a\r\n:1\r\n.\r\n",
	"*2\r\n$?\r\n;1\r\nx\r\n;0\r\n:1\r\n",
	strings.Repeat("*1\r\n", maxDepth) + ":1\r\n",
	"$70000\r\n" + strings.Repeat("x", 70000) + "\r\n",
}

// readFrames reads everything, as whole frames with their value's type.
func readFrames(r *frameReader) (list []string, types string, err error) {
	var frame []byte
	for {
		piece, last, err := r.next()
		if err != nil {
			return list, types, err
		}
		if len(frame) == 0 {
			types += string(r.scanner.top)
		}
		frame = append(frame, piece...)
		if last {
			list = append(list, string(frame))
			frame = nil
		}
	}
}

func TestFramesAreFoundInAnyChunks(t *testing.T) {
	t.Parallel()
	all := strings.Join(frames, "")
	for name, src := range map[string]io.Reader{
		"whole":  strings.NewReader(all),
		"bytes":  iotest.OneByteReader(strings.NewReader(all)),
		"halves": iotest.HalfReader(strings.NewReader(all)),
		"random": &chunked{b: []byte(all), next: rand.New(rand.NewPCG(1, 2)).IntN},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := readFrames(newFrameReader(src))
			require.ErrorIs(t, err, io.EOF)
			require.Equal(t, frames, got)
		})
	}
}

// chunked hands out bytes in pieces of random length.
type chunked struct {
	b    []byte
	next func(n int) int
}

func (c *chunked) Read(b []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), 1+c.next(100))], c.b)
	c.b = c.b[n:]
	return n, nil
}

func TestFrameKnowsItsValue(t *testing.T) {
	t.Parallel()
	r := newFrameReader(strings.NewReader("|1\r\n+a\r\n*1\r\n:1\r\n$2\r\nok\r\n>1\r\n+x\r\n"))
	piece, last, err := r.next()
	require.NoError(t, err)
	require.True(t, last)
	assert.Equal(t, "$2\r\nok\r\n", string(piece[r.scanner.topAt:]))
	assert.Equal(t, byte('$'), r.scanner.top)
	_, _, err = r.next()
	require.NoError(t, err)
	assert.Equal(t, byte('>'), r.scanner.top)
	assert.Zero(t, r.scanner.topAt)
}

func TestLongFrameComesInPieces(t *testing.T) {
	t.Parallel()
	long := "$1000000\r\n" + strings.Repeat("x", 1000000) + "\r\n"
	r := newFrameReader(strings.NewReader(long + "+OK\r\n"))
	piece, last, err := r.next()
	require.NoError(t, err)
	assert.False(t, last)
	assert.Len(t, piece, headLimit)
	got := len(piece)
	for !last {
		piece, last, err = r.next()
		require.NoError(t, err)
		got += len(piece)
	}
	assert.Equal(t, len(long), got)
	assert.LessOrEqual(t, len(r.buf), headLimit)
	piece, last, err = r.next()
	require.NoError(t, err)
	assert.True(t, last)
	assert.Equal(t, "+OK\r\n", string(piece))
}

func TestWhatIsNotAFrame(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"hello\r\n":                          `unknown type 'h'`,
		"$-2\r\n":                            `'$' has the length -2`,
		"$x\r\n":                             `'$' has the length "x"`,
		"$\r\n":                              `'$' has the length ""`,
		"%-1\r\n":                            `'%' has the length -1`,
		"$536870913\r\n":                     `a string of 536870913 bytes`,
		"*1073741825\r\n":                    `1073741825 elements`,
		"$2\r\nabc\r\n":                      `longer than its length`,
		"$2\r\nab\rc":                        `longer than its length`,
		"$1\r1\n":                            `a carriage return inside the length`,
		".\r\n":                              `an end marker without a beginning`,
		"*1\r\n.\r\n":                        `an end marker without a beginning`,
		";1\r\nx\r\n":                        `';' where a chunk or a value was due`,
		"$?\r\n+OK\r\n":                      `'+' where a chunk or a value was due`,
		"!?\r\n":                             `'!' can't be sent in pieces`,
		"$" + strings.Repeat("1", 30):        `more than 20 digits`,
		strings.Repeat("*1\r\n", maxDepth+1): `more than 128 aggregates`,
		strings.Repeat("|1\r\n+a\r\n", maxDepth+1): `more than 128 aggregates`,
	} {
		_, _, err := readFrames(newFrameReader(strings.NewReader("+OK\r\n" + in)))
		require.ErrorIs(t, err, errFraming, "%.40q", in)
		assert.ErrorContains(t, err, want, "%.40q", in)
	}
}

func TestFrameThatBreaksOff(t *testing.T) {
	t.Parallel()
	for _, frame := range frames {
		for _, cut := range []int{1, len(frame) / 2, len(frame) - 1} {
			if cut == 0 || cut > 1000 {
				continue
			}
			r := newFrameReader(strings.NewReader(frame[:cut]))
			_, _, err := r.next()
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%q", frame[:cut])
			assert.Equal(t, frame[:cut], string(r.rest()))
		}
	}
}

// FuzzFrames: any split of the bytes gives the same frames and the same end,
// nothing is lost or changed, and memory stays bounded.
func FuzzFrames(f *testing.F) {
	for _, frame := range frames {
		if len(frame) < 1000 {
			f.Add([]byte(frame), uint64(1))
		}
	}
	f.Add([]byte(strings.Join(frames[:30], "")), uint64(7))
	f.Add([]byte("$?\r\n;0\r\n*?\r\n.\r\n*1\r\n|1\r\n"), uint64(3))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		whole := newFrameReader(bytes.NewReader(data))
		want, wantTypes, wantErr := readFrames(whole)
		split := newFrameReader(&chunked{b: data, next: rand.New(rand.NewPCG(seed, 0)).IntN})
		got, gotTypes, gotErr := readFrames(split)

		require.Equal(t, want, got)
		require.Equal(t, wantTypes, gotTypes)
		require.Equal(t, wantErr, gotErr)
		require.LessOrEqual(t, len(split.buf), headLimit)
		require.LessOrEqual(t, len(split.scanner.stack), maxDepth)
		joined := strings.Join(want, "")
		require.True(t, strings.HasPrefix(string(data), joined))
		if len(data) < headLimit && !errors.Is(wantErr, errFraming) {
			require.Equal(t, string(data[len(joined):]), string(whole.rest()))
		}
	})
}
