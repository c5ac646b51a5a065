import { createServer } from 'node:http'
import pg from 'pg'

/**
 * The baseline on PostgreSQL: a bare `node:http` server that runs one prepared statement for each request, with as many
 * connections as Carrel, and sends the result: ten records from `offset` on, or, if BENCH_KEY names an eperson, one
 * look-up by key.
 */
const eperson = process.env.BENCH_KEY
const [url = '', table = ''] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: url, max: 8 })

const page = {
  name: 'page',
  text: `SELECT json FROM ${table} WHERE n >= $1 AND n < $2 ORDER BY n`,
}
const numbered = {
  name: 'numbered',
  text: `SELECT r.json FROM unnest($1::integer[]) WITH ORDINALITY AS wanted (n, at) JOIN ${table} r ON r.n = wanted.n ORDER BY at`,
}
const key = { name: 'key', text: 'SELECT stamp FROM carrel.eperson WHERE uuid = $1' }

async function answer(target: string): Promise<string> {
  if (eperson !== undefined) {
    const { rows } = await pool.query({ ...key, values: [eperson] })
    return JSON.stringify(rows[0])
  }
  const at = Number(new URL(target, 'http://x').searchParams.get('offset'))
  const { rows } = target.includes('order_by')
    ? await pool.query({
        ...numbered,
        values: [Array.from({ length: 10 }, (_, n) => (at * 31 + n * 77_777) % 1_000_000)],
      })
    : await pool.query({ ...page, values: [at, at + 10] })
  return `[${rows.map(row => row.json).join(',')}]`
}

const server = createServer((request, response) => {
  answer(request.url ?? '').then(
    json => {
      const body = Buffer.from(json)
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
    },
    error => response.writeHead(500).end(String(error)),
  )
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  console.log(`http://127.0.0.1:${typeof address === 'object' && address ? address.port : ''}`)
})
