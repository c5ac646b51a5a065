import { closed, count, named, orNull, Type, text, time } from '../http/schema.ts'

const seconds = Type.Number({ minimum: 0 })
const Duration = named('Duration', {
  count,
  sum: seconds,
  p50: orNull(seconds),
  p90: orNull(seconds),
  p99: orNull(seconds),
})
const totals = Type.Record(text, Type.Number())
const answered = { open: Type.Number(), answered: totals, duration: Duration }

/** As `metrics/figures.ts` makes them. Labels of the build and of pools are those of the metrics. */
export const Figures = Type.Object(
  {
    time,
    started: time,
    workers: closed({
      running: count,
      wanted: count,
      replaced: count,
      loops: Type.Array(closed({ worker: count, heapBytes: count, delay: Duration })),
    }),
    processor: closed({ seconds }),
    memory: closed({
      residentBytes: count,
      cacheBytes: count,
      cacheEntries: count,
      cacheMaxBytes: count,
    }),
    openFiles: count,
    storeBytes: totals,
    logins: Type.Array(
      closed({
        method: text,
        success: Type.Optional(count),
        failure: Type.Optional(count),
        throttled: count,
      }),
    ),
    tokensRefused: Type.Array(closed({ kind: text, reasons: totals })),
    requests: closed({
      ...answered,
      routes: Type.Array(closed({ route: text, method: text, ...answered })),
    }),
    downloadsOpen: Type.Number(),
    listingsOpen: Type.Number(),
    queues: Type.Array(
      closed({
        queue: text,
        running: Type.Number(),
        waiting: Type.Number(),
        refused: count,
        waited: Duration,
      }),
    ),
    connections: Type.Array(
      Type.Object(
        { pool: text, max: count, waiting: Type.Number() },
        { additionalProperties: Type.Number() },
      ),
    ),
  },
  { $id: 'Figures', additionalProperties: text },
)
