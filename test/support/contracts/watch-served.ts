import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { DescribedRoute } from '../../../src/http/contract.ts'
import type { OpenApi } from '../../../src/openapi/document.ts'
import { atEnd } from '../service/at-end.ts'
import { scratch } from '../service/postgres-server.ts'
import { compare } from './compare-answers.ts'
import type { Answered } from './record-answers.ts'

type Settings = Readonly<Record<string, string>>

/**
 * Compares the answers of a service that runs as a process of its own, and has the addresses of the built
 * document. The answers are written to a file and compared when the process has ended.
 *
 * @returns settings to add to its environment
 */
export function watchServed(t: TestContext, env: Settings): Settings {
  if (Object.keys(env).some(name => /^CARREL_(QUERY_BASE|CSRF_HEADER|CONFIG)$/.test(name))) return {}
  const folder = mkdtempSync(join(scratch, 'carrel-test-answers-'))
  const file = join(folder, 'answers')
  atEnd(t, async () => {
    const faults = new Set<string>()
    try {
      const { faultsOf } = await reference()
      for (const line of linesOf(file)) {
        const answered = JSON.parse(line) as Answered
        for (const fault of faultsOf(answered))
          faults.add(`${answered.method} ${answered.path} → ${answered.status}: ${fault}`)
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
    assert.deepEqual([...faults].slice(0, 20), [], 'answers that are not documented')
  })
  const loaded = `--require=${fileURLToPath(new URL('record-served.ts', import.meta.url))}`
  return { RECORDED_ANSWERS: file, NODE_OPTIONS: [env.NODE_OPTIONS, loaded].filter(Boolean).join(' ') }
}

/** Returns the complete lines of the file. A killed process may have left the last one unfinished. */
function linesOf(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').slice(0, -1)
  } catch {
    return []
  }
}

let made: Promise<ReturnType<typeof compare>> | undefined
function reference(): Promise<ReturnType<typeof compare>> {
  made ??= readDocument().then(text => {
    const document = JSON.parse(text) as OpenApi
    return compare(document, routesOf(document), {
      baseUrl: 'http://localhost:8080',
      csrfCookie: 'DSPACE-XSRF-COOKIE',
      csrfHeader: 'DSPACE-XSRF-TOKEN',
      queryBase: '/api/query/v4',
    })
  })
  return made
}

/** Reads the document that was built for this run. A test file that runs alone generates it. */
async function readDocument(): Promise<string> {
  const { CARREL_TEST_BUILD: build } = process.env
  if (build !== undefined)
    return readFileSync(new URL(`../../../${build}/openapi.json`, import.meta.url), 'utf8')
  const { openApi } = await import('../../../scripts/open-api.ts')
  return openApi()
}

/** The router's patterns with `*`, by the described routes. */
const wildcards: Readonly<Record<string, string>> = {
  '/api/query/v4/:entity/changes': '/api/query/v4/:entity/*',
  '/api/query/v4/:entity/:key': '/api/query/v4/:entity/*',
  '/api/query/v4/:entity/:key/:related': '/api/query/v4/:entity/*',
  '/api/query/v4/:entity/:key/:related/:value': '/api/query/v4/:entity/*',
  '/console/:page': '/console/*',
  '/metrics/v2/read/:name': '/metrics/v2/read/*',
}

const routesOf = ({ paths }: OpenApi): readonly DescribedRoute[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], 'x-access': access }]) => {
      const url = path.replaceAll(/\{(\w+)\}/g, ':$1')
      return {
        method: method.toUpperCase(),
        url,
        pattern: wildcards[url] ?? url,
        contract: () => Promise.reject(new Error('it is in the document')),
        access,
        knowsCaller: parameters.some(({ $ref }) => $ref === '#/components/parameters/OnBehalfOf'),
        takesBody: false,
        isPage: false,
        isProviderMessage: false,
        embeds: false,
      }
    }),
  )
