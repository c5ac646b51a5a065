import type { Family, Labels, Tally, Value } from '../../lib/tally.ts'

export type Measured = Family & { readonly values: readonly Value[] }

/**
 * Every metric by its name, with the values of all event loops, which are to be summed.
 * @param whole metrics of the whole service
 */
export function familiesOf(tally: Tally, whole: readonly Measured[]): ReadonlyMap<string, Measured> {
  const families = new Map<string, Measured>()
  const loops = Array.from({ length: tally.loops }, (_, loop) => tally.read(loop))
  for (const family of [...loops, whole].flat()) {
    const known = families.get(family.name)
    families.set(family.name, known ? { ...known, values: [...known.values, ...family.values] } : family)
  }
  return families
}

/** Prometheus's text format (https://prometheus.io/docs/instrumenting/exposition_formats/). */
export const contentType = 'text/plain; version=0.0.4; charset=utf-8'

export const expose = (families: ReadonlyMap<string, Measured>): string =>
  `${[...families.values()].map(printed).join('\n\n')}\n`

function printed({ name, help, type, values }: Measured): string {
  const series = new Map<string, number>()
  for (const { metricName = name, labels, value } of values) {
    const key = metricName + printedLabels(labels)
    series.set(key, (series.get(key) ?? 0) + value)
  }
  const lines = [...series].map(([key, value]) => `${key} ${value}`)
  return [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`, ...lines].join('\n')
}

function printedLabels(labels: Labels): string {
  const parts = Object.entries(labels).map(
    ([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`,
  )
  return parts.length === 0 ? '' : `{${parts.join(',')}}`
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
