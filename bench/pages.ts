import { compare } from './support/compare.ts'
import { artworks, scratch } from './support/folder.ts'
import { head } from './support/load.ts'
import { artworkOrders } from './support/orders.ts'
import { carrel, startCarrel } from './support/processes.ts'

/**
 * Requests pages of 10 of the 69,202 artworks in five orders, mixed at random, and compares them with a bare
 * server.
 */
const folder = scratch()
carrel(folder, ['import', artworks(), '--entity', 'artworks', '--key', 'id', '--read', 'anonymous'])
const service = await startCarrel(folder)

const pair = await fetch(`${service.address}/api/security/csrf`)
const headers = { Cookie: pair.headers.getSetCookie()[0]?.split(';')[0] ?? '' }
const random = (below: number) => Math.floor(Math.random() * below)
const page =
  (offsets: number, more = '') =>
  () =>
    head(
      'GET',
      `/api/query/v4/artworks?order_by=${artworkOrders[random(artworkOrders.length)]}&limit=10&offset=${random(offsets)}${more}`,
      headers,
    )

await compare({ name: 'pages, offsets 0–1,000', service, next: page(1_001) })
await compare({
  name: 'pages, offsets 0–1,000, include_total',
  service,
  next: page(1_001, '&include_total=true'),
})
await compare({ name: 'pages, all offsets', service, next: page(69_192) })
await service.stop()
