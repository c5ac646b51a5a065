import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'

/**
 * Works as in the files of https://github.com/tategallery/collection (public domain), with the members that
 * `docs/how-to/ten-questions.md` reads.
 */
const works = [
  [8590, 'N01234', 'Norham Castle', 'Joseph Mallord William Turner', 558, 'Oil paint on canvas', 1798, 1856],
  [8591, 'N01235', 'The Sea', 'Joseph Mallord William Turner', 558, 'Graphite on paper', null, 1856],
  [7144, 'N04088', 'Self-Portrait', 'Gwen John', 1363, 'Oil paint on canvas', 1902, 1942],
  [9001, 'T12562', 'Unicorn', 'Rebecca Horn', 2269, 'Wood, metal and elephant dung', '1997', 2002],
] as const

const artists = `\uFEFFid,name,gender,dates,yearOfBirth,yearOfDeath,placeOfBirth,placeOfDeath,url
558,"Turner, Joseph Mallord William",Male,1775–1851,1775,1851,"London, United Kingdom",,
1363,"John, Gwen",Female,1876–1939,1876,1939,"Haverfordwest, United Kingdom","Dieppe, France",
2269,"Horn, Rebecca",Female,born 1944,1944,,Deutschland,,
`

/** Writes a copy of the collection with a few works into the folder, laid out as by `git clone`. */
export function writeSample(folder: string): void {
  for (const [id, acno, title, artist, contributor, medium, startYear, acquisitionYear] of works) {
    const file = join(
      folder,
      'tate/artworks',
      acno.slice(0, 1).toLowerCase(),
      `${acno.toLowerCase()}-${id}.json`,
    )
    mkdirSync(dirname(file), { recursive: true })
    const work = {
      acno,
      acquisitionYear,
      all_artists: artist,
      contributors: [{ id: contributor, role: 'artist' }],
      dateRange: startYear === null ? null : { startYear },
      id,
      medium,
      title,
    }
    writeFileSync(file, JSON.stringify(work, null, 2))
  }
  writeFileSync(join(folder, 'tate/artist_data.csv'), artists)
}

/** Path of the whole collection as lines of JSON. ARTWORKS overrides it. */
const file =
  process.env.ARTWORKS ??
  fileURLToPath(new URL('../../../../shared/data/tate-artworks.ndjson.gz', import.meta.url))
const artistsFile = join(dirname(file), 'tate-artists.csv')

export const hasCollection = existsSync(file) && existsSync(artistsFile)

/** Writes the files that the first commands of the guide create. */
export function writeCollection(folder: string): void {
  const lines = gunzipSync(readFileSync(file)).toString().trim().split('\n')
  const wanted = lines.map(line => {
    const { contributors, ...work } = JSON.parse(line) as { contributors: readonly { id: number }[] }
    return JSON.stringify({ ...work, artistId: contributors[0]?.id })
  })
  writeFileSync(join(folder, 'artworks.ndjson'), `${wanted.join('\n')}\n`)
  mkdirSync(join(folder, 'tate'))
  writeFileSync(join(folder, 'tate/artist_data.csv'), readFileSync(artistsFile))
}

/** A work of the collection, with the members that questions ask about. */
export interface Artwork {
  readonly id: number
  readonly title: string
  readonly artist: string
  readonly classification: string | null
  readonly medium: string | null
  /** A few years of the source are texts. */
  readonly year: number | string | null
  readonly acquisitionYear: number | null
  readonly height: number | null
  readonly width: number | null
  readonly contributors: readonly Contributor[]
}

interface Contributor {
  readonly id: number
  readonly name: string
  readonly birthYear: number | null
  readonly role: string
}

export interface Artist {
  readonly id: number
  readonly name: string
  readonly gender: string | null
  readonly yearOfBirth: number | null
  readonly placeOfBirth: string | null
}

/** All works and artists of the collection; without its files, some hundred that are made up in its likeness. */
export function readTate(): { readonly artworks: readonly Artwork[]; readonly artists: readonly Artist[] } {
  if (!hasCollection) return madeUp()
  const artworks = gunzipSync(readFileSync(file)).toString().trim().split('\n')
  const [names = [], ...rows] = cellsIn(readFileSync(artistsFile, 'utf8').replace('\uFEFF', ''))
  const isNumber = (name: string) => name === 'id' || name.startsWith('year')
  const artists = rows.map(row =>
    Object.fromEntries(
      names.map((name, at) => {
        const text = row[at] ?? ''
        return [name, text === '' ? null : isNumber(name) ? Number(text) : text]
      }),
    ),
  )
  return {
    artworks: artworks.map(line => JSON.parse(line) as Artwork),
    artists: artists as unknown as readonly Artist[],
  }
}

/** Reads CSV as RFC 4180 has it. */
function cellsIn(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [[]]
  for (const [, quoted, plain, end] of text
    .trim()
    .matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain ?? '')
    if (end === '') break
    if (end !== ',') rows.push([])
  }
  return rows
}

function madeUp(): { readonly artworks: readonly Artwork[]; readonly artists: readonly Artist[] } {
  const places = ['London, United Kingdom', 'Genève, Schweiz', 'Łódź, Polska']
  const artists = Array.from({ length: 40 }, (_, at): Artist & object => ({
    id: at,
    name: `${['Turner', 'John', 'Müller', 'Ōtani'][at % 4]}, ${at}`,
    gender: at % 7 === 0 ? null : at % 3 === 0 ? 'Female' : 'Male',
    yearOfBirth: at % 9 === 0 ? null : 1700 + ((at * 37) % 260),
    placeOfBirth: at % 5 === 0 ? null : (places[at % 3] ?? null),
  }))
  const titles = ['Norham Castle', 'Still Life', 'Unicorn', 'The Sea, “Évora”', 'Blick auf Norham; Sunrise']
  const kinds = ['on paper, unique', 'on paper, print', 'painting', 'sculpture', null]
  const artworks = Array.from({ length: 800 }, (_, at): Artwork => {
    const contributors = [at % 40, ...(at % 11 === 0 ? [(at + 7) % 40] : []), ...(at % 44 === 0 ? [3] : [])]
    const year = 1600 + ((at * at) % 412)
    return {
      id: at * 3 + 1,
      title: `${titles[(at * 7) % 5]} ${at % 90}`,
      artist: artists[at % 40]?.name ?? '',
      classification: kinds[(at * 3) % 5 === 4 ? 4 : at % 4] ?? null,
      medium: at % 12 === 0 ? null : (['Graphite on paper', 'Oil paint on canvas', 'Bronze'][at % 3] ?? null),
      year: at % 13 === 0 ? null : at % 97 === 0 ? 'no date' : year,
      acquisitionYear: at % 71 === 0 ? null : 1830 + ((at * 53) % 180),
      height: at % 17 === 0 ? null : at === 400 ? 37_500 : 60 + ((at * 91) % 1_900),
      width: at % 19 === 0 ? null : 50 + ((at * 47) % 2_300),
      contributors: contributors.map(id => ({
        id,
        name: artists[id]?.name ?? '',
        birthYear: artists[id]?.yearOfBirth ?? null,
        role: at % 6 === 0 ? 'after' : 'artist',
      })),
    }
  })
  return { artworks, artists }
}
