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
