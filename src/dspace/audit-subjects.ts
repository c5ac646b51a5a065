import type { FastifyRequest } from 'fastify'
import { clientOf } from '../http/connection.ts'
import type { Repository } from '../items/statements/repository.ts'
import { readUuid } from '../lib/uuids.ts'
import { viewerOf } from '../model/caller.ts'
import { type Condition, listOf } from '../model/plan.ts'
import { rowsIn } from '../model/record-format.ts'
import type { People } from '../people/statements.ts'
import type { Entities } from '../storage/entities.ts'

interface Parts {
  readonly entities: Entities
  readonly people: Pick<People, 'group'>
  readonly repository: Pick<Repository, 'bitstream' | 'item' | 'uuidOf'>
}

/** An object of DSpace that an event is about, and that is still there. */
export interface Subject {
  readonly uuid: string
  readonly type: 'EPERSON' | 'GROUP' | 'ITEM' | 'BITSTREAM'
}

interface Event {
  readonly event: string
  readonly object: string | null
  readonly eperson: string | null
}

/** Kinds of events whose object is the identifier of an item, or begins with it: `letters, ORIGINAL/a.txt`. */
const ofItems = ['item.', 'bundle.', 'bitstream.']
/** Maximum number of commas at which an identifier may end; names of files have commas, too. */
const maxCommas = 5

/**
 * Translates between the trail and DSpace's interface. The trail names items by their identifiers and groups
 * by their names, so that it can be read after they are gone. The interface knows both by UUIDs: it searches
 * for the events of an object, and links to the object of an event.
 */
export function createSubjects({ entities, people, repository }: Parts) {
  async function itemIn(object: string): Promise<Subject | undefined> {
    const parts = object.split(', ', maxCommas)
    const names = [...parts.map((_, at) => parts.slice(0, at + 1).join(', ')), object]
    // The longest comes first, because one identifier may be the beginning of another.
    for (const name of new Set(names.toReversed())) {
      const uuid = await repository.uuidOf(name)
      if (uuid !== undefined) return { uuid, type: 'ITEM' }
    }
    return undefined
  }

  /** Finds the UUIDs of groups by name, with one query for all events of a page. */
  async function groupsNamed(names: readonly string[], request: FastifyRequest) {
    if (names.length === 0) return new Map<string, string>()
    const entity = (await entities.all()).get('groups')
    if (!entity) throw new Error('there is no entity groups')
    const values = [...new Set(names)].toSorted().map(text => ({ kind: 'text', text }) as const)
    const where = { kind: 'in', field: textField('name'), values, negated: false } as const
    const plan = { ...listOf(entity, { order: [], offset: 0, limit: values.length, total: false }), where }
    const listing = await entities.list(plan, viewerOf(request.caller), 'json', clientOf(request))
    const rows = await rowsIn<{ readonly uuid: string; readonly name: string }>(listing.body)
    return new Map(rows.map(({ name, uuid }) => [name, uuid]))
  }

  const isOfGroup = ({ event }: Event) => event.startsWith('group.')

  return {
    /** Finds the objects of events, in the order of the events. */
    async of(events: readonly Event[], request: FastifyRequest): Promise<readonly (Subject | undefined)[]> {
      const names = events.filter(isOfGroup).flatMap(({ object }) => object ?? [])
      const groups = await groupsNamed(names, request)
      return Promise.all(
        events.map(async (one): Promise<Subject | undefined> => {
          const { event, object, eperson } = one
          if (object === null) return eperson === null ? undefined : { uuid: eperson, type: 'EPERSON' }
          const group = isOfGroup(one) ? groups.get(object) : undefined
          if (group !== undefined) return { uuid: group, type: 'GROUP' }
          if (ofItems.some(kind => event.startsWith(kind))) return itemIn(object)
          const uuid = readUuid(object)
          const file = uuid === undefined ? undefined : await repository.bitstream(uuid)
          return file && { uuid: file.uuid, type: 'BITSTREAM' }
        }),
      )
    },

    /** Makes the condition for events about an object. @param text its UUID, or its name in the trail */
    async about(text: string): Promise<Condition> {
      const named = anyOf([...['object', 'eperson'].map(name => equals(name, text)), isCounted(text)])
      const uuid = readUuid(text)
      if (uuid === undefined) return named
      const item = await repository.item(uuid)
      if (item) {
        const { identifier } = item
        const object = anyOf([equals('object', identifier), ...startsWith('object', `${identifier}, `)])
        return anyOf([named, allOf([anyOf(ofItems.flatMap(kind => startsWith('event', kind))), object])])
      }
      const group = await people.group(uuid)
      if (!group) return named
      return anyOf([named, allOf([...startsWith('event', 'group.'), equals('object', group.name)])])
    },
  }
}

const anyOf = (of: readonly Condition[]): Condition => ({ kind: 'or', of })
const allOf = (of: readonly Condition[]): Condition => ({ kind: 'and', of })

const textField = (name: string) => ({ name, path: [], type: 'text' }) as const

const compare = (name: string, operator: '=' | '>=' | '<', text: string): Condition => ({
  kind: 'compare',
  field: textField(name),
  operator,
  value: { kind: 'text', text },
  negated: false,
})
const equals = (name: string, text: string) => compare(name, '=', text)

/** Matches events that count several objects, this one among them. */
const isCounted = (object: string): Condition => ({
  kind: 'null',
  field: { name: 'repeats', path: ['objects', object], type: 'json' },
  negated: true,
})

/**
 * Matches texts with this prefix as a range: texts sort by code point, so the prefix with its last character
 * raised ends it.
 */
function startsWith(name: string, prefix: string): Condition[] {
  const last = prefix.length - 1
  const next = prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1)
  return [allOf([compare(name, '>=', prefix), compare(name, '<', next)])]
}
