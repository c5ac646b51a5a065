import type { JSX } from 'preact'
import { type Entity, entities, entityPath, keyOf } from '../entities.ts'
import { a } from '../i18n/admin.ts'
import { written } from '../query/pql.ts'
import { href, withQuery } from '../router.ts'
import type { Misfit } from './declared.ts'

/** Number of characters after which the service cuts an example. */
const cutAt = 100

interface Parts {
  readonly entity: string
  readonly misfits: readonly Misfit[]
}

/**
 * Lists what doesn't fit, with links to the records. They open beside the page, so that it can be checked again
 * when they are corrected.
 */
export function Misfits({ entity: name, misfits }: Parts): JSX.Element {
  const entity = entities.value?.find(one => one.name === name)
  return (
    <ul class="misfits">
      {misfits.map(({ field, constraint, count, examples, values = [] }) => (
        <li key={`${field} ${constraint}`}>
          <strong>
            <bdi>{field}</bdi>:
          </strong>{' '}
          {a(`misfit.${constraint ?? 'type'}`, { n: count })}
          <span class="examples">
            {examples.map((example, at) => {
              const path =
                constraint === 'oneOf' || constraint === 'unique'
                  ? pathOfValue(entity, field, example)
                  : pathOfKey(entity, example)
              return (
                // Keys of different records are alike where they are cut.
                <bdi key={at}>
                  {values[at] !== undefined && <bdi>“{values[at]}” </bdi>}
                  {path === undefined ? (
                    example
                  ) : (
                    <a href={href(path)} target="_blank" rel="noopener">
                      {example}
                    </a>
                  )}
                </bdi>
              )
            })}
            {count > examples.length && '…'}
          </span>
        </li>
      ))}
    </ul>
  )
}

/** @returns undefined if the key can't be told from its text */
function pathOfKey(entity: Entity | undefined, example: string): string | undefined {
  if (!entity || example === '' || example.length >= cutAt) return undefined
  const { length } = keyOf(entity)
  const parts = length === 1 ? [example] : example.split(',')
  if (parts.length !== length) return undefined
  const key = length === 1 ? example : parts.map(part => part.replaceAll('\\', '\\\\')).join(',')
  return `${entityPath(entity.name)}/records/${encodeURIComponent(key)}`
}

/** The list of the records that have a value. */
function pathOfValue(entity: Entity | undefined, name: string, example: string): string | undefined {
  const field = entity?.fields.find(one => one.name === name)
  if (!entity || !field || example.length >= cutAt) return undefined
  const isBare = ['integer', 'number', 'boolean'].includes(field.type)
  const q = `${written(name)} = ${isBare ? example : JSON.stringify(example)}`
  return withQuery(entityPath(entity.name), { q })
}
