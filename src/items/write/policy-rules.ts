import { hash, randomBytes } from 'node:crypto'
import { Problem } from '../../http/problems.ts'
import { readUuid } from '../../lib/uuids.ts'
import { administratorGroup, type Eperson, type Group } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { PolicyNote } from '../../model/item-changes.ts'
import { maxReadersBytes } from '../../model/items.ts'
import type { Accounts } from '../../model/people.ts'
import {
  epersonOf,
  epersonsIn,
  groupOf,
  groupOfOpenReader,
  openReader,
  type ReaderRule,
  type Readers,
  readersText,
  readRules,
  writeRules,
} from '../../model/readers.ts'
import type { Repository } from '../statements/repository.ts'
import { refuseOutcome, retryStale } from './outcomes.ts'
import { lineFault, textFault } from './texts.ts'

/**
 * A resource policy of DSpace, mapped to a rule (docs/decisions/0043). READ is a rule that lets its recipient
 * read, WRITE one that lets it change an item. A policy has the id
 * `<uuid of its object>_<12 hexadecimal digits>`, which stays when it is changed.
 */
export interface Policy extends Omit<PolicyNote, 'rule'> {
  readonly rule: ReaderRule
}

const actions = ['READ', 'WRITE'] as const
type Action = (typeof actions)[number]

export const actionOf = ({ right }: ReaderRule): Action => (right === 'write' ? 'WRITE' : 'READ')

/** Writes a rule as a text that tells it from others. */
const ruleText = (rule: ReaderRule): string => readersText([rule])

/** @returns the object and the id; undefined for any other text */
export function readPolicyId(text: string): { readonly object: string; readonly id: string } | undefined {
  const [, object = '', tail = ''] = /^(.{36})_([0-9a-f]{12})$/i.exec(text) ?? []
  const uuid = readUuid(object)
  return uuid === undefined ? undefined : { object: uuid, id: `${uuid}_${tail.toLowerCase()}` }
}

/** Makes a random id, which no policy has had before. */
export const newPolicyId = (object: string): string => `${object}_${randomBytes(6).toString('hex')}`

/** Lists the policies of an object. The id of a rule without a note is derived from the rule. */
function policiesOf(object: string, rules: Readers, notes: readonly PolicyNote[]): readonly Policy[] {
  const taken = new Set(notes.map(({ id }) => id))
  return rules.map(rule => {
    const text = ruleText(rule)
    const note = notes.find(one => one.rule === text)
    if (note) return { ...note, rule }
    for (let n = 0; ; n++) {
      const id = `${object}_${hash('sha256', `${n} ${text}`).slice(0, 12)}`
      if (!taken.has(id)) return { id, rule, name: null, description: null, type: null }
    }
  })
}

/** Makes the notes of policies, which are kept besides their rules. */
const notesOf = (policies: readonly Policy[]): readonly PolicyNote[] =>
  policies.map(({ rule, ...note }) => ({ ...note, rule: ruleText(rule) }))

/** Values of a policy that clients send; undefined ones stay as they are. */
export interface PolicyValues {
  readonly name?: string | null
  readonly description?: string | null
  readonly type?: string | null
  readonly action?: Action
  readonly from?: string | null
  readonly until?: string | null
}

const types = ['TYPE_SUBMISSION', 'TYPE_WORKFLOW', 'TYPE_INHERITED', 'TYPE_CUSTOM']
const refused = (why: string) => new Problem('change-refused', why)

/** @throws Problem 422 naming the member */
export function readPolicyValue(member: string, value: unknown): PolicyValues {
  if (value !== null && typeof value !== 'string') throw refused(`${member} must be a string or null.`)
  const text = value === '' ? null : value
  switch (member) {
    case 'name': {
      const fault = text === null ? undefined : lineFault(text)
      if (fault !== undefined) throw refused(`The name ${fault}.`)
      return { name: text }
    }
    case 'description': {
      const fault = text === null ? undefined : textFault(text)
      if (fault !== undefined || (text?.length ?? 0) > 5_000)
        throw refused(`The description ${fault ?? 'is longer than 5000 characters'}.`)
      return { description: text }
    }
    case 'policyType':
      if (text !== null && !types.includes(text))
        throw refused(`policyType must be null or one of ${types.join(', ')}.`)
      return { type: text }
    case 'action': {
      const action = actions.find(one => one === text)
      if (!action)
        throw refused(
          `Carrel has no policies for the action ${JSON.stringify(text?.slice(0, 50) ?? null)}; it has READ, and WRITE of items.`,
        )
      return { action }
    }
    case 'startDate':
      return { from: text === null ? null : readDay(member, text) }
    case 'endDate':
      return { until: text === null ? null : readDay(member, text) }
    default:
      throw refused(`A policy has no ${JSON.stringify(member.slice(0, 100))}.`)
  }
}

/** Reads a day. Clients of DSpace before version 8 send a time of day with it. @throws Problem 422 */
function readDay(member: string, text: string): string {
  const day = /^\d{4}-\d{2}-\d{2}(?=T[\d:.]{5,15}(Z|[+-]\d{2}:?\d{2})?$|$)/.exec(text)?.[0] ?? ''
  const at = Date.parse(`${day}T00:00:00Z`)
  // Date turns 30 February into 1 or 2 March.
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== day)
    throw refused(`${member} must be a day, such as 2027-01-31.`)
  return day
}

/** Changes a rule. @throws Problem 422 for a policy that Carrel has no rule for */
export function changedRule(
  { reader, ...rule }: ReaderRule,
  { action = actionOf({ reader, ...rule }), from = rule.from, until = rule.until }: PolicyValues,
  isItem: boolean,
): ReaderRule {
  if (from && until && from > until) throw refused('startDate must not be after endDate.')
  if (action === 'WRITE' && !isItem)
    throw refused('WRITE is a right to an item with all its files; a file has policies for READ only.')
  if (action === 'WRITE' && (reader === 'anonymous' || reader === 'eperson'))
    throw refused('WRITE can be given to groups with members and to single epersons only.')
  return {
    reader,
    ...(from ? { from } : {}),
    ...(until ? { until } : {}),
    ...(action === 'WRITE' ? { right: 'write' as const } : {}),
  }
}

/** An object with policies: an item or a file. */
export interface EditedObject {
  readonly uuid: string
  readonly isItem: boolean
  /** Readers as they are in the store. */
  readonly readers: Readers
  readonly policies: readonly Policy[]
}

export interface PolicyStore {
  readonly repository: Pick<Repository, 'item' | 'bitstream' | 'policyNotes' | 'change'>
}

export async function findObject(
  { repository }: PolicyStore,
  uuid: string,
): Promise<EditedObject | undefined> {
  const item = await repository.item(uuid)
  const readers = (item ?? (await repository.bitstream(uuid)))?.readers
  if (!readers) return undefined
  // Files have the right to write from their item, so no policy of the file gives it.
  const rules = [...readRules(readers), ...(item ? writeRules(readers) : [])]
  const policies = policiesOf(uuid, rules, await repository.policyNotes(uuid))
  return { uuid, isItem: item !== undefined, readers, policies }
}

/**
 * Gives an object other policies, and begins again if another change came first.
 * @throws Problem 404 or 422
 */
export async function editPolicies(
  store: PolicyStore,
  uuid: string,
  event: AuditEvent,
  next: (object: EditedObject) => readonly Policy[],
): Promise<void> {
  const outcome = await retryStale(async () => {
    const object = await findObject(store, uuid)
    if (!object) throw new Problem('not-found', 'There is no item and no file with this UUID.')
    const policies = next(object)
    const rules = policies.map(({ rule }) => rule)
    if (new Set(rules.map(ruleText)).size < rules.length)
      throw new Problem('change-refused', 'There is such a policy already.')
    if (Buffer.byteLength(readersText(rules)) > maxReadersBytes)
      throw new Problem(
        'change-refused',
        `The policies take more than ${maxReadersBytes} bytes; put the readers into one group.`,
      )
    return store.repository.change(
      { kind: 'set-policies', object: uuid, seen: object.readers, rules, notes: notesOf(policies) },
      event,
    )
  })
  refuseOutcome(outcome, 'policy')
}

export type KnownPeople = Pick<Accounts, 'eperson' | 'groupsByName' | 'groupsByUuid'>

/** The kinds of recipients, with the names that parameters and addresses use. */
export const kinds = ['group', 'eperson'] as const
type Kind = (typeof kinds)[number]
export const articles = { group: 'a group', eperson: 'an eperson' } as const satisfies Record<Kind, string>

export const kindOf = ({ reader }: ReaderRule): Kind =>
  epersonOf(reader) === undefined ? 'group' : 'eperson'

/** Finds the recipient of a rule; null if it is of the other kind, or doesn't exist any more. */
export interface Recipients {
  readonly group: (rule: ReaderRule) => Group | null
  readonly eperson: (rule: ReaderRule) => Eperson | null
}

/** Reads the groups and the epersons that policies are for. */
export async function recipientsOf(policies: readonly Policy[], people: KnownPeople): Promise<Recipients> {
  const names = new Set(policies.flatMap(({ rule }) => groupOf(rule.reader) ?? []))
  const groups = new Map((await people.groupsByName([...names])).map(one => [one.name, one]))
  const epersons = new Map<string, Eperson>()
  for (const uuid of epersonsIn(policies.map(({ rule }) => rule))) {
    const eperson = await people.eperson(uuid)
    if (eperson) epersons.set(uuid, eperson)
  }
  return {
    group: ({ reader }) => groupOfOpenReader(reader) ?? groups.get(groupOf(reader) ?? '') ?? null,
    eperson: ({ reader }) => epersons.get(epersonOf(reader) ?? '') ?? null,
  }
}

/**
 * Makes the reader of a rule.
 * @throws Problem 422 for a group that rules can't name, or an eperson that doesn't exist
 */
export async function readerOf(kind: Kind, uuid: string, people: KnownPeople): Promise<ReaderRule['reader']> {
  if (kind === 'eperson') {
    if (await people.eperson(uuid)) return `eperson:${uuid}`
    throw new Problem('change-refused', 'There is no eperson with this UUID.')
  }
  const open = openReader(uuid)
  if (open) return open
  const [group] = await people.groupsByUuid([uuid])
  if (!group) throw new Problem('change-refused', 'There is no group with this UUID.')
  if (group.name === administratorGroup)
    throw new Problem('change-refused', 'Administrators may read and change everything; no policy is needed.')
  return `group:${group.name}`
}
