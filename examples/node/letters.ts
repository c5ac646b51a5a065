/**
 * Lists the places from which a person wrote, with the number and the years of the letters, and reads all
 * files.
 *
 *   CARREL_TOKEN=… node examples/node/letters.ts Zoë
 */
import { CarrelProblem, createClient } from '@carrel/client'
import { download } from '@carrel/client/downloads'
import type { Entities } from '../entities.ts'

const { CARREL_URL = 'http://localhost:8080', CARREL_TOKEN = '' } = process.env
const [sender = 'Zoë'] = process.argv.slice(2)

const carrel = createClient<Entities>(CARREL_URL, { token: CARREL_TOKEN })
const letters = carrel.entity('letters')

try {
  const places = await letters
    .query({
      select: ['place', ['function', 'count'], ['function', 'min', 'year'], ['function', 'max', 'year']],
      where: ['and', ['=', 'sender', sender], ['null?', 'place', false]],
      groupBy: ['place'],
      orderBy: [['count', 'desc']],
      limit: 3,
    })
    .all()
  for (const { place, count, min, max } of places) console.log(`${place}: ${count} letters, ${min}–${max}`)

  // One response, however long, read as fast as this loop runs.
  let pages = 0
  for await (const letter of letters.query({ where: ['=', 'sender', sender] })) pages += letter.pages
  console.log(`${pages} pages by ${sender}`)

  for await (const { uuid, name } of carrel.list('/api/core/bitstreams')) {
    const file = await download(carrel, uuid)
    const text = await new Response(file.stream).text()
    console.log(`${name}, ${file.size} bytes: ${text.split('\n')[2]}`)
  }
} catch (error) {
  if (!(error instanceof CarrelProblem)) throw error
  console.error(error.detail)
  process.exitCode = 1
}
carrel.close()
