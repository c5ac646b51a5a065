import { type Entity, keyOf } from '../../entities.ts'
import { written } from '../entity/pql.ts'

/** Maximum number of examples. */
const most = 3

/** Returns questions that can be asked of the first entities, for those who don't know the language yet. */
export const examplesFor = (entities: readonly Entity[]): readonly string[] =>
  entities.slice(0, 2).flatMap(examplesOf).slice(0, most)

function examplesOf(entity: Entity): readonly string[] {
  const keys = new Set(keyOf(entity))
  const others = entity.fields.filter(({ name, sortable }) => !keys.has(name) && sortable !== false)
  const isShort =
    /^(place|type|kind|category|class|genre|gender|status|state|role|language|country|city|artist)/i
  const texts = others.filter(({ type }) => type === 'text')
  const text = texts.find(({ name }) => isShort.test(name)) ?? texts[0]
  const number = others.find(({ type }) => type === 'integer' || type === 'number')
  return [
    ...(text
      ? [
          `${entity.name}[${written(text.name)}, count()] {\n  group by ${written(text.name)}\n  order by count() desc\n  limit 20\n}`,
        ]
      : []),
    ...(number
      ? [
          `${entity.name}[count(), min(${written(number.name)}), avg(${written(number.name)}), max(${written(number.name)})] { }`,
        ]
      : []),
  ]
}
