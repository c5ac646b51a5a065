import { AggregatorRegistry } from 'prom-client'
import type { Family, Tally, Value } from '../lib/tally.ts'

/**
 * The metrics of all event loops, summed, in the format of Prometheus
 * (https://prometheus.io/docs/instrumenting/exposition_formats/).
 * @param whole those that are the whole service's
 */
export async function expose(
  tally: Tally,
  whole: readonly (Family & { readonly values: readonly Value[] })[],
): Promise<{ readonly contentType: string; readonly text: string }> {
  const loops = Array.from({ length: tally.loops }, (_, loop) => tally.read(loop))
  const registry = AggregatorRegistry.aggregate(
    [...loops, whole].map(families => families.map(family => ({ ...family, aggregator: 'sum' }))),
  )
  return { contentType: registry.contentType, text: await registry.metrics() }
}
