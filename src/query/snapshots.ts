import { badParameter } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import type { Awaitable } from '../lib/awaitable.ts'
import { memo, RecentlyUsed } from '../lib/memo.ts'
import type { Entity } from '../model/entities.ts'
import type { Keyring } from '../model/keys.ts'
import type { Plan } from '../model/plan.ts'
import { entitiesIn } from '../model/plan-fields.ts'
import { type EntityState, sealedStates } from '../model/snapshots.ts'
import type { Entities, RecordEntity } from '../storage/entities.ts'
import { defaultConditionOf } from './check/check.ts'
import { QueryError } from './language/node.ts'
import type { Known } from './plan.ts'

/** Snapshots of what queries read, so that pages hold still (Q35–Q38, docs/decisions/0082). */
export interface Snapshots {
  /**
   * Shows the entities that a snapshot names in the states that it names.
   * @param text the parameter `snapshot`; undefined: all as they are now
   * @throws Problem 400 for a text that is none; 410 if a state can't be read any more
   */
  at<K extends Known>(known: K, text: string | undefined): Awaitable<K>
  /**
   * Names the states that a plan reads.
   * @param text the parameter `snapshot`, which must name all of them
   * @returns undefined if the plan reads a table, whose earlier states are lost
   * @throws Problem 400
   */
  of(plan: Plan, text: string | undefined): string | undefined
  /** Reads a snapshot. @param from the parameter or the header that has it @throws Problem 400 */
  read(text: string, from?: string): readonly EntityState[]
  /** Writes the snapshot of an entity. @throws Problem 400 if there are none */
  write(state: EntityState): string
}

interface Parts {
  readonly entities: Pick<Entities, 'at' | 'state'>
  readonly keyring: Keyring
  /** Time in ms for which a replaced version is held; 0: lists have no snapshots. */
  readonly time: number
}

/** Maximum number of snapshots whose lists of entities are at hand. */
const maxKnown = 64
/** Maximum number of states whose texts are at hand: clients that follow an entity get the same ones. */
const maxWritten = 2_000

export function createSnapshots({ entities, keyring, time }: Parts): Snapshots {
  const { open, seal, sealOne, sealState } = createTexts(entities, keyring)
  const opened = new RecentlyUsed<string, readonly EntityState[]>(maxKnown)
  const listOf = createLists()

  function requireKept(text: string, from: string): void {
    if (time === 0) throw badParameter(from, text, `This service keeps no snapshots. Leave ${from} out.`)
  }

  function read(text: string, from = 'snapshot'): readonly EntityState[] {
    requireKept(text, from)
    const known = opened.get(text)
    if (known) return known
    const states = open(text)
    if (!states) throw badParameter(from, text, notOpened(from))
    opened.add(text, states)
    return states
  }

  async function at<K extends Known>(known: K, text: string): Promise<K> {
    const states = read(text)
    if (known.entity) requireNamed([known.entity], states, text)
    const then: RecordEntity[] = []
    for (const state of states) {
      const now = known.entities.get(state.entity)
      // A query that reads such an entity is refused as it would be without a snapshot.
      if (!now || !isImported(now) || !known.mayRead(now)) continue
      const found = await entities.at(now, state)
      if (!found)
        throw new Problem(
          'snapshot-expired',
          `This snapshot of ${now.name} is no longer kept. Start over without the parameter snapshot.`,
        )
      if (found === now) continue
      if (!fitsDefault(found))
        throw new Problem(
          'snapshot-expired',
          `The default condition of ${now.name} does not fit the fields of this snapshot. Start over without the parameter snapshot.`,
        )
      then.push(found)
    }
    if (then.length === 0) return known
    const all = listOf(known.entities, then, text)
    const entity = known.entity && (all.get(known.entity.name) ?? known.entity)
    return { ...known, entities: all, entity }
  }

  return {
    read,
    write: state => {
      requireKept('', 'since')
      return sealState(state)
    },
    at: (known, text) => (text === undefined ? known : at(known, text)),
    of: (plan, text) => {
      if (time === 0) return undefined
      const all = entitiesIn(plan)
      if (text !== undefined) requireNamed(all, read(text), text)
      if (!all.every(isImported)) return undefined
      const [entity, ...others] = all
      if (entity && others.length === 0) return sealOne(entity)
      const byName = all.toSorted((one, other) => (one.name < other.name ? -1 : 1))
      return seal(byName.map(one => entities.state(one)))
    },
  }
}

/** Writes and opens the texts of snapshots, and keeps those that are asked for again and again. */
function createTexts(entities: Parts['entities'], keyring: Keyring) {
  const { seal, open } = sealedStates(keyring)
  /** Snapshots of one entity, which nearly all are, by its source; a new secret makes others. */
  let sealed = new WeakMap<Entity['source'], string>()
  let written = new RecentlyUsed<string, string>(maxWritten)
  let sealedWith: Uint8Array | undefined

  function renew(): void {
    const [newest] = keyring()
    if (newest === sealedWith) return
    sealed = new WeakMap()
    written = new RecentlyUsed(maxWritten)
    sealedWith = newest
  }

  function sealOne(entity: RecordEntity): string | undefined {
    renew()
    const known = sealed.get(entity.source)
    if (known !== undefined) return known
    const text = seal([entities.state(entity)])
    if (text !== undefined) sealed.set(entity.source, text)
    return text
  }

  function sealState(state: EntityState): string {
    renew()
    const name = `${state.entity} ${state.root} ${state.seq}`
    const known = written.get(name)
    if (known !== undefined) return known
    const text = seal([state])
    if (text === undefined) throw new Error(`the state of ${state.entity} is too long for a snapshot`)
    written.add(name, text)
    return text
  }

  return { open, seal, sealOne, sealState }
}

/** @returns a function that puts entities in place of others, in a list that stays the same object while these do */
function createLists() {
  const lists = new RecentlyUsed<string, List>(maxKnown)
  return (now: Known['entities'], then: readonly RecordEntity[], text: string): Known['entities'] => {
    const before = lists.get(text)
    const isSame =
      before?.now === now &&
      before.then.length === then.length &&
      then.every((one, place) => one === before.then[place])
    if (isSame) return before.all
    const all = new Map([...now, ...then.map(one => [one.name, one] as const)])
    lists.delete(text)
    lists.add(text, { now, then, all })
    return all
  }
}

/** The entities of a request, some of them as they were. */
interface List {
  readonly now: Known['entities']
  readonly then: readonly RecordEntity[]
  readonly all: Known['entities']
}

/** @returns false if the default condition of now is wrong in this earlier state */
const fitsDefault = memo((entity: RecordEntity): boolean => {
  try {
    if (entity.defaultCondition !== undefined) defaultConditionOf(entity.defaultCondition, entity)
    return true
  } catch (error) {
    if (error instanceof QueryError) return false
    throw error
  }
})

const isImported = (entity: Entity): entity is RecordEntity => entity.source.kind === 'records'

const notOpened = (from: string): string =>
  from === 'Last-Event-ID'
    ? 'The header Last-Event-ID must be the id of an event of this feed, whole.'
    : `The parameter ${from} must be the X-Snapshot of an answer of this service, whole.`

const wrong = (text: string, detail: string): Problem => badParameter('snapshot', text, detail)

/** @throws Problem 400 unless the states are those of all entities */
function requireNamed(all: readonly Entity[], states: readonly EntityState[], text: string): void {
  for (const entity of all) {
    if (!isImported(entity))
      throw wrong(
        text,
        `Records of ${entity.name} are not imported, so that their earlier states are lost: a list that reads them has no snapshot.`,
      )
    if (!states.some(state => state.entity === entity.name))
      throw wrong(
        text,
        // Its other entities are not named: the caller may not know of them.
        `This snapshot is not of ${entity.name}. Start over without the parameter snapshot.`,
      )
  }
}
