import type { ReadRecord } from '../import/json-lines.ts'

/** Number of letters in the demo. */
export const letters = 10_000

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
export async function* someLetters(count: number): AsyncIterable<ReadRecord[]> {
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

/** Makes visits to the reading room. */
export async function* someVisits(count: number): AsyncIterable<ReadRecord[]> {
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

/** Makes appraisals of some letters. */
export async function* someAppraisals(count: number): AsyncIterable<ReadRecord[]> {
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
