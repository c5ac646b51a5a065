import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hashPassword } from '../authn/passwords.ts'
import type { FilesPlace } from '../config/files-place.ts'
import { importRecords, VersionReplaced } from '../entities/import-entity.ts'
import type { Store } from '../features.ts'
import { openFiles } from '../files/open-files.ts'
import type { ReadRecord } from '../import/json-lines.ts'
import type { Repository } from '../items/statements/repository.ts'
import { makeTemporaryFolder } from '../lib/process-ids.ts'
import type { Declared } from '../model/declared.ts'
import type { NewBitstream, NewItem } from '../model/items.ts'
import type { Credentials } from '../model/people.ts'
import type { Readers } from '../model/readers.ts'
import { claimDemo, demoEvent, wasUsed } from './demo-claim.ts'
import { letters, someAppraisals, someLetters, someVisits } from './demo-records.ts'
import { generatePassword } from './eperson.ts'
import { ownCommand } from './given-path.ts'

/** Epersons that `--demo` adds to a new store, with a small archive of letters, some of them with files. */
const epersons = [
  { email: 'admin@example.org', firstName: 'Ada', lastName: 'Admin', group: null },
  { email: 'reader@example.org', firstName: 'Ruth', lastName: 'Reader', group: 'Readers' },
  { email: 'curator@example.org', firstName: 'Carl', lastName: 'Curator', group: 'Curators' },
] as const

/** The eperson who may change everything in the demo. */
export const administrator = epersons[0].email

/** The demo, once all of it has been added. */
export interface Demo {
  introduction(told: Told): string
  /** Called once the introduction has been written. Until then, a start would add the demo with new passwords. */
  finish(): Promise<void>
}

interface Told {
  /** The place of the store, without a password. */
  readonly store: string
  readonly withPasswords: boolean
}

/**
 * Reasons why a start doesn't add the demo, or not all of it. `incomplete`: an earlier start was killed while it added
 * the demo, and the store was used since. `elsewhere`: another process is adding it.
 */
export type NoDemo = 'in use' | 'incomplete' | 'elsewhere' | 'stopped'

/**
 * Adds the demo, or what an earlier start that was killed had not added yet. Nobody has seen the passwords of that one,
 * so epersons get new ones. Nothing that others have made in the store is changed (D4).
 * @param isStopping true once the service has been told to end
 */
export async function createDemo(
  storage: Store,
  place: FilesPlace,
  isStopping = () => false,
): Promise<Demo | NoDemo> {
  const { repository } = storage
  if (await isInUse(storage)) return 'in use'
  const claim = await claimDemo(storage)
  if (!claim) return 'elsewhere'
  let isAdded = false
  try {
    // Another process may have added it before the claim.
    if (await isInUse(storage)) return 'in use'
    await repository.setDemo('begun')
    const credentials = await Promise.all(
      epersons.map(async person => {
        const password = generatePassword()
        return { ...person, password, passwordHash: await hashPassword(Buffer.from(password)) }
      }),
    )
    const steps = [
      ...credentials.flatMap(person => stepsFor(person, storage)),
      ...stepsForEntities(storage),
      ...stepsForItems(storage, place),
    ]
    for (const step of steps) {
      if (isStopping()) return 'stopped'
      if (!(await claim.isOurs())) return 'elsewhere'
      if (await wasUsed(storage)) return 'incomplete'
      await step()
    }
    isAdded = true
    return {
      introduction: told => introduction(credentials, told),
      finish: async () => {
        try {
          if (await claim.isOurs()) await repository.setDemo('complete')
        } finally {
          await claim.release()
        }
      },
    }
  } finally {
    if (!isAdded) await claim.release()
  }
}

/** True if the store has the whole demo, of which people may have deleted some, or was in use without it. */
async function isInUse(storage: Store): Promise<boolean> {
  const state = await storage.repository.demo()
  if (state !== 'none') return state === 'complete'
  return (await storage.people.listEpersons()).length > 0 || wasUsed(storage)
}

interface Credential {
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  readonly group: string | null
  readonly password: string
  readonly passwordHash: string
}

function introduction(credentials: readonly Credential[], { store, withPasswords }: Told): string {
  const list = credentials.map(
    ({ email, password, group }) =>
      `  ${email.padEnd(20)}  ${withPasswords ? `${password}  ` : ''}${group ?? 'Administrator'}`,
  )
  const hint = withPasswords
    ? '(shown only once)'
    : `(\`${ownCommand()} eperson password <email>\` gives one a password that you know)`
  return `
First start: ${store} now holds ${letters.toLocaleString('en')} demo letters that everybody may read, visits for those who are logged in, appraisals for Curators, five items with files, and these epersons ${hint}:

${list.join('\n')}

README.md says what to try with curl.
`
}

/** A part of the demo. If others have made something by the same name, it changes nothing. */
type Step = () => Promise<unknown>

function stepsFor({ group, password: _, ...person }: Credential, { people }: Store): Step[] {
  const { email, passwordHash } = person
  let known: Credentials | undefined
  return [
    async () => {
      known = await people.credentials(email)
      if (known) return
      await people.addEperson({ ...person, administrator: group === null }, demoEvent('eperson.add'))
    },
    async () => {
      if (known) await people.setPassword({ email }, passwordHash, demoEvent('eperson.password'), known)
    },
    ...(group === null
      ? []
      : [
          () => people.addGroup(group, demoEvent('group.add')),
          () => people.join(group, email, demoEvent('group.join')),
        ]),
  ]
}

/** Adds letters that everybody may read, and two small entities that show what access does. */
function stepsForEntities({ entities }: Store): Step[] {
  const relations = [{ fields: ['letter'], to: { entity: 'letters', fields: ['id'] } }]
  const all: readonly (Declared & { name: string; records: AsyncIterable<ReadRecord[]> })[] = [
    {
      name: 'letters',
      read: 'anonymous',
      write: 'group:Curators',
      description: 'Letters of fifteen writers. Everybody may read them, and Curators may change them.',
      records: someLetters(letters),
    },
    {
      name: 'visits',
      read: 'eperson',
      relations,
      description: 'Visits to the reading room. Everybody who is logged in may read them.',
      records: someVisits(200),
    },
    {
      name: 'appraisals',
      read: 'group:Curators',
      write: 'group:Curators',
      relations,
      description: 'Appraisals of letters. Only Curators may read and change them.',
      records: someAppraisals(60),
    },
  ]
  return all.map(({ name, records, read, ...declare }) => async () => {
    // An import, with what is declared, is whole or not there.
    if ((await entities.all()).has(name)) return
    const event = demoEvent('entity.import')
    try {
      await importRecords(
        records,
        entities,
        { name, key: 'id', read, declare, replaces: null, event },
        () => {},
      )
    } catch (error) {
      // Others have made one by this name meanwhile, which the next step sees.
      if (!(error instanceof VersionReplaced)) throw error
    }
  })
}

/** Transcriptions of some of the demo's letters, each with other readers. */
const plan: readonly (readonly [title: string, author: string, readers: Readers])[] = [
  ['Bertha to Eliot, Dublin, 1847', 'Bertha', [{ reader: 'anonymous' }]],
  ['Dürer to Câmara, Coimbra, 1802', 'Dürer', [{ reader: 'eperson' }]],
  ['Ibsen to Järvi, Örebro, 1869', 'Ibsen', [{ reader: 'group:Readers' }]],
  ['Kovač to Łoś, Kraków, 1911', 'Kovač', [{ reader: 'group:Curators' }]],
  [
    'Zoë to Frías, Basel, 1915',
    'Zoë',
    [{ reader: 'anonymous', from: `${new Date().getUTCFullYear() + 1}-01-01` }],
  ],
]

const identifierOf = (at: number) => `demo/${at + 1}`

function stepsForItems({ repository }: Store, place: FilesPlace): Step[] {
  let items: readonly NewItem[] = []
  return [
    async () => {
      // They are added together.
      const known = await repository.knownItems(plan.map((_, at) => identifierOf(at)))
      if (known.size === 0) items = await keepTranscriptions(repository, place)
    },
    async () => {
      if (items.length > 0) await repository.putItems(items, demoEvent('item.add'), [])
    },
  ]
}

/** Keeps the files of the items, of which nothing shows before these are added. */
async function keepTranscriptions(repository: Repository, place: FilesPlace): Promise<readonly NewItem[]> {
  const files = await openFiles(place, repository)
  await files.claim()
  const folder = makeTemporaryFolder('demo')
  try {
    const items: NewItem[] = []
    for (const [at, [title, author, readers]] of plan.entries()) {
      const path = join(folder, 'transcription.txt')
      writeFileSync(
        path,
        `${title}\n\nDear friend, this is the transcription of a letter that was never written.\n`,
      )
      const transcription: NewBitstream = {
        name: `${title}.txt`,
        bundle: 'ORIGINAL',
        description: 'Transcription',
        mimeType: 'text/plain',
        readers: null,
        ...(await files.keep(path)),
      }
      items.push({
        identifier: identifierOf(at),
        metadata: {
          'dc.title': [{ value: title, language: 'en' }],
          'dc.contributor.author': [{ value: author, language: null }],
          'dc.date.issued': [{ value: title.slice(-4), language: null }],
          'dc.type': [{ value: 'Letter', language: 'en' }],
        },
        collections: [],
        readers,
        bitstreams: [transcription],
        fingerprint: 'demo',
      })
    }
    return items
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
