import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hashPassword } from '../authn/passwords.ts'
import type { FilesPlace } from '../config/files-place.ts'
import { openFiles } from '../files/open-files.ts'
import { importRecords } from '../import/import-entity.ts'
import type { ReadRecord } from '../import/json-lines.ts'
import { makeTemporaryFolder } from '../lib/process-ids.ts'
import { type Declared, entityTag } from '../model/declared.ts'
import type { NewBitstream, NewItem } from '../model/items.ts'
import type { Readers } from '../model/readers.ts'
import type { Storage } from '../storage/storage.ts'
import { generatePassword } from './eperson.ts'
import { ownCommand } from './given-path.ts'
import { commandEvent } from './store.ts'

/** Epersons that `--demo` adds to a new store, with a small archive of letters, some of them with files. */
const epersons = [
  { email: 'admin@example.org', firstName: 'Ada', lastName: 'Admin', group: null },
  { email: 'reader@example.org', firstName: 'Ruth', lastName: 'Reader', group: 'Readers' },
  { email: 'curator@example.org', firstName: 'Carl', lastName: 'Curator', group: 'Curators' },
] as const

/** The eperson who may change everything in the demo. */
export const administrator = epersons[0].email

const letters = 10_000

export interface Demo {
  introduction(told: Told): string
}

interface Told {
  /** The place of the store, without a password. */
  readonly store: string
  readonly withPasswords: boolean
}

/**
 * Adds the demo, or what an earlier start that was killed had not added yet. Nobody has seen the passwords of that one,
 * so epersons get new ones.
 * @returns undefined if the store is in use or has the whole demo, of which people may have deleted some; nothing is
 *   added then
 */
export async function createDemo(storage: Storage, place: FilesPlace): Promise<Demo | undefined> {
  const { people, repository } = storage
  const state = await repository.demo()
  if (state === 'complete' || (state === 'none' && (await people.listEpersons()).length > 0)) return undefined
  await repository.setDemo('begun')
  const credentials = await Promise.all(
    epersons.map(async person => {
      const password = generatePassword()
      return { ...person, password, passwordHash: await hashPassword(Buffer.from(password)) }
    }),
  )
  for (const { group, password: _, ...person } of credentials) {
    const { email, passwordHash } = person
    const whose = { ...person, administrator: group === null }
    if ((await people.addEperson(whose, commandEvent('eperson.add'))) === 'exists')
      await people.setPassword({ email }, passwordHash, commandEvent('eperson.password'))
    if (group === null) continue
    await people.addGroup(group, commandEvent('group.add'))
    await people.join(group, person.email, commandEvent('group.join'))
  }
  await addDemoEntities(storage)
  await addDemoItems(storage, place)
  await repository.setDemo('complete')
  return {
    introduction: ({ store, withPasswords }) => {
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
    },
  }
}

/** Adds letters that everybody may read, and two small entities that show what access does. */
async function addDemoEntities({ entities }: Storage): Promise<void> {
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
  for (const { name, records, ...declared } of all) {
    const { read } = declared
    // An import is whole or not there.
    if (!(await entities.all()).has(name))
      await importRecords(
        records,
        entities,
        { name, key: 'id', read, event: commandEvent('entity.import') },
        () => {},
      )
    const entity = (await entities.all()).get(name)
    if (entity) await entities.declare(name, declared, entityTag(entity), commandEvent('entity.change'))
  }
}

const names = [
  'Abel',
  'Bertha',
  'Câmara',
  'Dürer',
  'Eliot',
  'Frías',
  'Gauß',
  'Hölderlin',
  'Ibsen',
  'Järvi',
  'Kovač',
  'Łoś',
  'Ørsted',
  'Şahin',
  'Zoë',
]
const places = [
  'Aarhus',
  'Basel',
  'Coimbra',
  'Dublin',
  'Évora',
  'Firenze',
  'Göttingen',
  'Kraków',
  'Leiden',
  'Örebro',
  'Zürich',
]
const languages = ['de', 'en', 'fr', 'it', 'pt', null]

const pick = <T>(list: readonly T[], seed: number): T => list[seed % list.length] as T

/** Makes letters that are the same on every machine, spread evenly by a small multiplicative sequence. */
async function* someLetters(count: number): AsyncIterable<ReadRecord[]> {
  yield Array.from({ length: count }, (_, at) => {
    const seed = Math.imul(at + 1, 2_654_435_761) >>> 8
    const sender = pick(names, seed)
    const recipient = pick(names, seed >>> 4)
    const place = pick(places, seed >>> 8)
    const year = 1780 + (seed % 140)
    return {
      line: at + 1,
      record: {
        id: at + 1,
        shelfmark: `MS ${100 + (seed % 60)}/${at + 1}`,
        title: `${sender} to ${recipient}, ${place}, ${year}`,
        sender,
        recipient,
        place,
        year: seed % 17 === 0 ? null : year,
        pages: 1 + (seed % 12),
        language: pick(languages, seed >>> 6),
        digitised: seed % 3 === 0,
        catalogued: new Date(Date.UTC(1998, 0, 1) + (seed % 9_000) * 86_400_000).toISOString(),
        subjects: [pick(places, seed >>> 2), pick(names, seed >>> 10)],
      },
    }
  })
}

async function* someVisits(count: number): AsyncIterable<ReadRecord[]> {
  yield Array.from({ length: count }, (_, at) => {
    const seed = Math.imul(at + 7, 2_654_435_761) >>> 8
    return {
      line: at + 1,
      record: {
        id: at + 1,
        letter: 1 + (seed % letters),
        reader: pick(names, seed >>> 5),
        day: new Date(Date.UTC(2024, 0, 2) + (seed % 500) * 86_400_000).toISOString(),
        minutes: 20 + (seed % 200),
      },
    }
  })
}

async function* someAppraisals(count: number): AsyncIterable<ReadRecord[]> {
  yield Array.from({ length: count }, (_, at) => {
    const seed = Math.imul(at + 3, 2_654_435_761) >>> 8
    return {
      line: at + 1,
      record: {
        id: at + 1,
        letter: 1 + (seed % letters),
        value: 80 + (seed % 400) * 5,
        currency: 'EUR',
        condition: pick(['good', 'fair', 'poor'], seed >>> 4),
        appraised: 2010 + (seed % 14),
      },
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

async function addDemoItems({ repository }: Storage, place: FilesPlace): Promise<void> {
  // They are added together.
  if ((await repository.knownItems(plan.map((_, at) => identifierOf(at)))).size > 0) return
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
    await repository.putItems(items, commandEvent('item.add'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
