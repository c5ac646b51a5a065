import type { JSX } from 'preact'
import { service } from '../api.ts'
import {
  type DataRecord,
  type Entity,
  type EntityField,
  entities,
  keyOf,
  keyText,
  pathOf,
  recordPath,
} from '../entities.ts'
import { readExactly } from '../exact.ts'
import { t, tOf } from '../i18n/i18n.ts'
import { Combobox, type ComboboxInput, most, pause } from '../parts/Combobox.tsx'
import { useLoad } from '../parts/load.ts'
import { cut } from '../parts/Value.tsx'
import { pqlOf, written } from '../query/pql.ts'
import { href } from '../router.ts'
import { hasWord } from './search.ts'
import { nameField } from './view.ts'

interface Parts extends ComboboxInput {
  /** The entity of the records. */
  readonly of: Entity
}

/** The entity whose records a field references, if the caller may read it. */
export const referencedBy = ({ references }: Pick<EntityField, 'references'>): Entity | undefined =>
  references === undefined ? undefined : entities.value?.find(({ name }) => name === references)

/** Offers the records that a reference can lead to, by words or keys; the key of the chosen one becomes its value. */
export function RecordPicker({ of: other, ...parts }: Parts): JSX.Element {
  const name = besideKey(other)
  return (
    <Combobox<DataRecord>
      {...parts}
      listLabel={t('pick.list', { name: tOf('entity', other.name) })}
      find={async (text, signal) => ({ items: await find(other, text, signal) })}
      on={other}
      idOf={record => keyText(other, record)}
      noteOf={record => (name ? String(record[name.name] ?? '') : '')}
      onTake={record => parts.onText(keyText(other, record))}
    />
  )
}

interface ReferencedRecordParts {
  readonly of: Entity
  readonly text: string
}

/** The record that a value leads to, as a link that says its name. It opens beside what is being typed. */
export function ReferencedRecord({ of: other, text }: ReferencedRecordParts): JSX.Element | null {
  const { value } = useLoad(
    async signal => {
      if (text.trim() === '') return undefined
      await new Promise(resolve => setTimeout(resolve, pause))
      signal.throwIfAborted()
      // Asked as a list, because browsers log a record that isn't there.
      return (await find(other, text, signal, true))[0]
    },
    [other, text],
  )
  const name = besideKey(other)
  if (!value || keyText(other, value) !== text.trim()) return null
  return (
    <a href={href(recordPath(other, value))} target="_blank" rel="noopener">
      <bdi>{cut(String((name && value[name.name]) ?? text), 120)}</bdi>
    </a>
  )
}

/** The field that says besides the key which record it is. */
function besideKey(other: Entity): EntityField | undefined {
  const keys = keyOf(other)
  const name = nameField(other)
  return name && !keys.includes(name.name)
    ? name
    : other.fields.find(field => field.type === 'text' && !keys.includes(field.name))
}

/** Finds records by their key, or by words that they have. A record with exactly this key comes first. */
async function find(
  other: Entity,
  text: string,
  signal: AbortSignal,
  isKey = false,
): Promise<readonly DataRecord[]> {
  const typed = text.trim()
  const [key = ''] = keyOf(other)
  const type = other.fields.find(field => field.name === key)?.type
  const literal =
    type === 'integer' || type === 'number'
      ? /^-?(0|[1-9]\d*)(\.\d+)?$/.test(typed)
        ? typed
        : undefined
      : JSON.stringify(typed)
  const words = typed.replaceAll(/["*\\]/g, ' ').trim()
  const conditions = [
    ...(literal !== undefined && typed !== '' ? [`${written(key)} = ${literal}`] : []),
    ...(hasWord(words) && !isKey && other.fields.some(field => field.type === 'text' || field.type === 'json')
      ? [`* match ${JSON.stringify(`${words}*`)}`]
      : []),
  ]
  if (typed !== '' && conditions.length === 0) return []
  const [path, query] =
    typed === '' ? [pathOf(other.name)] : [pathOf(), pqlOf(other, conditions.join(' or '))]
  const response = await service.value.request('GET', path, { query: { query, limit: most }, signal })
  const records = readExactly(await response.text()) as readonly DataRecord[]
  const [exact, rest] = [true, false].map(is =>
    records.filter(record => (keyText(other, record) === typed) === is),
  )
  return [...(exact ?? []), ...(rest ?? [])]
}
