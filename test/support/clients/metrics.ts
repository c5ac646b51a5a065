import assert from 'node:assert/strict'

/** The metrics of a service, read from the text that Prometheus receives. */
export interface Metrics {
  /** Returns the sum of the series with these labels, or 0. */
  of(name: string, labels?: Readonly<Record<string, string>>): number
  /** All series, as names with labels. */
  readonly series: readonly string[]
  /** Names for which the text has a type. */
  readonly names: ReadonlySet<string>
}

const secret = 'a-secret-of-a-scraper-that-is-long-enough'

/** Settings of a service, and headers of requests, that make its metrics accessible from anywhere. */
export const scraper = {
  env: { CARREL_METRICS_SECRET: secret },
  headers: { authorization: `Bearer ${secret}` },
} as const

/** @param address of a service with the scraper's settings */
export async function metricsOf(address: string): Promise<Metrics> {
  const response = await fetch(`${address}/metrics`, { headers: scraper.headers })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return readMetrics(text)
}

/**
 * Parses metrics (https://prometheus.io/docs/instrumenting/exposition_formats/). @throws AssertionError if
 * the text is not in that format
 */
export function readMetrics(text: string): Metrics {
  const names = new Set<string>()
  const rows = text.split('\n').flatMap(line => {
    const [, typed] = /^# TYPE (\w+) (?:counter|gauge|histogram)$/.exec(line) ?? []
    if (typed !== undefined) names.add(typed)
    if (line === '' || line.startsWith('# ')) return []
    const [, name = '', labels = '', value] =
      /^([a-z_]+)(?:\{((?:[a-z]+="[^"\\]*",?)*)\})? (-?[\d.e+-]+)$/.exec(line) ?? []
    assert.ok(value !== undefined, `not a line of the format: ${line}`)
    assert.ok(
      names.has(name) || names.has(name.replace(/_(bucket|sum|count)$/, '')),
      `${name} comes before its type`,
    )
    const given = new Map([...labels.matchAll(/([a-z]+)="([^"]*)"/g)].map(([, key, one]) => [key, one]))
    return [{ name, series: `${name}{${labels}}`, given, value: Number(value) }]
  })
  const series = rows.map(row => row.series)
  assert.equal(new Set(series).size, series.length, 'every series is there once')
  return {
    names,
    series,
    of: (name, labels = {}) =>
      rows
        .filter(row => row.name === name)
        .filter(row => Object.entries(labels).every(([key, value]) => row.given.get(key) === value))
        .reduce((sum, { value }) => sum + value, 0),
  }
}
