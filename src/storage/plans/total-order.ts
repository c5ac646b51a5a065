import type { Entity, Order } from '../../model/entities.ts'

/** The fields that decide an order: the key leaves no ties, so fields after the last of its fields have no effect. */
export function decidingOrder({ key }: Pick<Entity, 'key'>, order: readonly Order[]): readonly Order[] {
  const places = [key].flat().map(name => order.findIndex(one => one.field === name))
  return places.includes(-1) ? order : order.slice(0, Math.max(...places) + 1)
}

/** The same with what is missing of the key, which makes the order total (Q6). Each field is in it once (Q17). */
export function totalOrder({ key }: Pick<Entity, 'key'>, order: readonly Order[]): readonly Order[] {
  const deciding = decidingOrder({ key }, order)
  const named = new Set(deciding.map(({ field }) => field))
  const missing = [key].flat().filter(field => !named.has(field))
  return [...deciding, ...missing.map(field => ({ field, descending: false }))]
}
