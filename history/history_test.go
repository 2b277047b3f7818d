package history_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/oversell/oversell/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ticking is a clock that moves by a millisecond whenever it is read.
func ticking() history.Clock {
	var mu sync.Mutex
	var now time.Duration
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		now += time.Millisecond
		return now
	}
}

func TestRecorderNumbersStampsAndWrites(t *testing.T) {
	var file bytes.Buffer
	var seen []int64
	r := history.NewRecorder(&file, ticking(), func(e history.Event) { seen = append(seen, e.N) })

	first := r.Record(history.Event{Kind: history.RunStarted})
	second := r.Record(history.Event{Kind: history.Acquired, At: 7 * time.Second, Purchase: "1.2.3"})
	require.Equal(t, int64(1), first.N)
	require.Equal(t, time.Millisecond, first.At, "stamped by the clock")
	require.Equal(t, 7*time.Second, second.At, "keeps the time of the place where it happened")
	require.Equal(t, []int64{1, 2}, seen)

	require.NoError(t, r.Flush())
	require.Equal(t, 2, strings.Count(file.String(), "\n"), "one line an event")
	read, err := history.Read(&file)
	require.NoError(t, err)
	require.Equal(t, r.Events(), read)
}

func TestRecorderIsSafeForConcurrentUse(t *testing.T) {
	var file bytes.Buffer
	r := history.NewRecorder(&file, history.Since(history.Monotonic()), nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 100 {
				r.Record(history.Event{Kind: history.Begun, Instance: i + 1})
			}
		})
	}
	wg.Wait()
	require.NoError(t, r.Flush())
	events, err := history.Read(&file)
	require.NoError(t, err)
	require.Len(t, events, 800)
	for i, e := range events {
		require.Equal(t, int64(i+1), e.N)
	}
}

func TestRecorderKeepsTheWritersError(t *testing.T) {
	full := errors.New("no space left on device")
	r := history.NewRecorder(failing{full}, ticking(), nil)
	r.Record(history.Event{Kind: history.RunStarted})
	require.ErrorIs(t, r.Flush(), full)
	require.ErrorIs(t, r.Flush(), full, "it isn't forgotten")
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestWatchFindsWhatComesAfterIt(t *testing.T) {
	r := history.NewRecorder(io.Discard, ticking(), nil)
	r.Record(history.Event{Kind: history.Acquired, Purchase: "before"})
	w := r.Watch(func(e history.Event) bool { return e.Kind == history.Acquired })
	defer w.Stop()
	r.Record(history.Event{Kind: history.Released, Purchase: "another kind"})
	r.Record(history.Event{Kind: history.Acquired, Purchase: "first"})
	r.Record(history.Event{Kind: history.Acquired, Purchase: "second"})
	e, err := w.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "first", e.Purchase)
	select {
	case e := <-w.Found():
		t.Fatalf("a watch finds one event, got another: %+v", e)
	default:
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	r := history.NewRecorder(io.Discard, ticking(), nil)
	w := r.Watch(func(history.Event) bool { return true })
	defer w.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.Wait(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestStoppedWatchFindsNothing(t *testing.T) {
	r := history.NewRecorder(io.Discard, ticking(), nil)
	w := r.Watch(func(history.Event) bool { return true })
	w.Stop()
	r.Record(history.Event{Kind: history.RunStarted})
	require.Empty(t, w.Found())
}

func TestReadTellsATruncatedHistory(t *testing.T) {
	events, err := history.Read(strings.NewReader(`{"n":1,"t":5,"kind":"run.started"}` + "\n" + `{"n":2,"t":6,"ki`))
	require.ErrorIs(t, err, history.ErrTruncated)
	require.Len(t, events, 1)
}

func TestReadNamesABadLine(t *testing.T) {
	_, err := history.Read(strings.NewReader(`{"n":1}` + "\nnonsense\n" + `{"n":3}` + "\n"))
	require.ErrorContains(t, err, "line 2")
	require.NotErrorIs(t, err, history.ErrTruncated)
}

func TestReadPassesOnAReadersError(t *testing.T) {
	_, err := history.Read(iotest.ErrReader(io.ErrClosedPipe))
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

func TestAnyCutOfAHistoryReadsAsItsBeginning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var file bytes.Buffer
		r := history.NewRecorder(&file, ticking(), nil)
		n := rapid.IntRange(1, 20).Draw(t, "events")
		for range n {
			r.Record(history.Event{
				Kind:  history.CommitRefused,
				Token: rapid.Int64().Draw(t, "token"),
				Text:  rapid.String().Draw(t, "text"),
			})
		}
		require.NoError(t, r.Flush())
		cut := rapid.IntRange(0, file.Len()).Draw(t, "cut")
		whole := bytes.Count(file.Bytes()[:cut], []byte("\n"))
		events, err := history.Read(bytes.NewReader(file.Bytes()[:cut]))
		if err != nil {
			require.ErrorIs(t, err, history.ErrTruncated)
		}
		require.GreaterOrEqual(t, len(events), whole)
		require.LessOrEqual(t, len(events), whole+1, "at most a last line without its newline")
	})
}

func TestLoadReadsWhatWasSaved(t *testing.T) {
	dir := t.TempDir()
	plan := history.Plan{Schema: history.PlanSchema, Scenario: "ttl-expiry", TTL: 300 * time.Millisecond,
		Steps: []history.Step{{Fault: "slow-call", When: "called, every 20th time"}}}
	require.NoError(t, history.WritePlan(dir, plan))
	_, err := history.Load(dir)
	require.ErrorContains(t, err, "read the history")

	_, err = history.Load(t.TempDir())
	require.ErrorContains(t, err, "read the plan")
}

func TestHeartbeatTellsAStandstill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stood []time.Duration
		stop := history.Heartbeat(time.Millisecond, func(d time.Duration) { stood = append(stood, d) })
		time.Sleep(time.Second) // the bubble's clock never stands still
		stop()
		require.Empty(t, stood)
	})
}

func TestMonotonicMovesOn(t *testing.T) {
	clock := history.Since(history.Monotonic())
	a := clock()
	b := clock()
	require.GreaterOrEqual(t, b, a)
}

func TestPurchaseIDsReadBack(t *testing.T) {
	i, b, n, ok := history.ParsePurchase(history.PurchaseID(12, 3, 45))
	require.True(t, ok)
	require.Equal(t, []int{12, 3, 45}, []int{i, b, n})
	require.Equal(t, "instance 12, buyer 3", history.Who("12.3.45"))
	for _, bad := range []string{"", "1.2", "1.2.x", "1.2.3.4", "-1.2.3"} {
		_, _, _, ok := history.ParsePurchase(bad)
		require.False(t, ok, bad)
	}
	require.Equal(t, `purchase "x"`, history.Who("x"))
}

// A run that is killed loses no more than its last moments.
func TestRecorderWritesOutNowAndThen(t *testing.T) {
	var file bytes.Buffer
	now := time.Duration(0)
	r := history.NewRecorder(&file, func() time.Duration { return now }, nil)
	for range 100 {
		now += 10 * time.Millisecond
		r.Record(history.Event{Kind: history.Begun})
		written, err := history.Read(bytes.NewReader(file.Bytes()))
		require.NoError(t, err, "in whole lines")
		require.LessOrEqual(t, len(r.Events())-len(written), 20, "at %s", now)
	}
}

func TestEachStopsWhereItIsTold(t *testing.T) {
	enough := errors.New("enough")
	var seen []int64
	err := history.Each(strings.NewReader("{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n"), func(e history.Event) error {
		if seen = append(seen, e.N); e.N == 2 {
			return enough
		}
		return nil
	})
	require.ErrorIs(t, err, enough)
	require.Equal(t, []int64{1, 2}, seen)
}

func TestAHistoryCarriesItsPlan(t *testing.T) {
	var file bytes.Buffer
	r := history.NewRecorder(&file, ticking(), nil)
	r.Record(history.Event{Kind: history.RunStarted})
	plan := history.Plan{Scenario: "ttl-expiry", Stock: 7, Steps: []history.Step{{Fault: "slow-call"}}}
	r.Record(history.Event{Kind: history.RunPlanned, Plan: &plan})
	require.NoError(t, r.Flush())
	events, err := history.Read(&file)
	require.NoError(t, err)
	require.Equal(t, &plan, history.Planned(events))
	require.Nil(t, history.Planned(events[:1]))
}
