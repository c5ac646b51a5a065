import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { acceptedEncodings } from '../http/accept.ts'
import { outside } from '../http/access.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { escapeHtml } from '../http/html-page.ts'
import { precondition } from '../http/preconditions.ts'
import { Problem } from '../http/problems.ts'
import { root } from '../lib/own-files.ts'
import { isMissing, unlessMissing } from '../lib/system-errors.ts'

interface Parts {
  readonly config: Pick<Config, 'basePath' | 'console' | 'csrfHeader' | 'look' | 'queryBase' | 'singleSignOn'>
  /** The folder that `console/build.js` has filled. */
  readonly folder: string
  /** The answer for programs at the same address. */
  readonly root: object
}

const route = contractsIn(() => import('./contracts.ts'))

/**
 * Allows nothing from elsewhere, nothing inline, no frames (CO3). `blob:` is a file that the page itself has
 * loaded to show it.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "font-src 'self'",
  "worker-src 'self'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * The console: one page at the address of the service and at each address below `/console`
 * (docs/decisions/0050).
 */
export function consoleRoutes(app: FastifyInstance, { config, folder, root }: Parts): void {
  if (!config.console) return
  const built = readBuilt(folder)
  const page = built && pageOf(built, config)

  const sendPage = (request: FastifyRequest, reply: FastifyReply) => {
    if (!page)
      throw new Problem(
        'not-found',
        'The console was not built. Run `npm ci` where the service was installed.',
      )
    reply
      .header('content-security-policy', policy)
      .header('cross-origin-opener-policy', 'same-origin')
      // The browser keeps the page, and revalidates it at each visit, because it names the files of the
      // current version.
      .header('cache-control', 'no-cache')
      .header('etag', page.etag)
      .header('vary', 'Accept')
    return precondition(request.headers, page.etag) === 304
      ? reply.code(304).send()
      : reply.type('text/html; charset=utf-8').send(page.html)
  }

  routesOf(app).get('/', { config: { ...route('showConsole', outside()).config } }, (request, reply) =>
    acceptsPage(request) ? sendPage(request, reply) : reply.header('vary', 'Accept').send(root),
  )
  routesOf(app).get(
    '/console',
    { config: { ...route('showConsolePage', outside(), 'showConsoleHome').config } },
    sendPage,
  )
  const { access, contract } = route('showConsolePage', outside(), 'showConsolePage').config
  routesOf(app).get('/console/*', { config: { access, contracts: { ':page': contract } } }, sendPage)
  logoRoute(app, config.look)
  const asset = { config: { ...route('sendConsoleAsset', outside()).config, isAsset: true } }
  routesOf(app).get<{ Params: { name: string } }>('/console/assets/:name', asset, async (request, reply) => {
    const found = await built?.assets(request.params.name, acceptedEncodings(request, encodings))
    if (!found) throw new Problem('not-found', 'There is no such file of the console.')
    return send(found, reply.header('cache-control', 'public, max-age=31536000, immutable'))
  })
  const module = { config: { ...route('sendClientModule', outside()).config, isAsset: true } }
  routesOf(app).get<{ Params: { name: string } }>('/console/client/:name', module, async (request, reply) => {
    const found = await built?.modules(request.params.name, acceptedEncodings(request, encodings))
    if (!found) throw new Problem('not-found', 'The client has no such module; begin with index.js.')
    // Pages of any origin may load what is public; what they may ask for is another matter (CORS).
    reply.header('access-control-allow-origin', '*').header('cross-origin-resource-policy', 'cross-origin')
    return send(found, reply.header('cache-control', 'public, max-age=3600'))
  })
}

function send({ encoding, type, body }: Asset, reply: FastifyReply): FastifyReply {
  if (encoding) reply.header('content-encoding', encoding)
  return reply.header('vary', 'Accept-Encoding').type(type).send(body)
}

/** A logo is only a picture, also if it is opened by itself: an SVG file runs no script and loads nothing. */
const logoPolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

function logoRoute(app: FastifyInstance, { logo }: Config['look']): void {
  const asset = { config: { ...route('sendConsoleLogo', outside()).config, isAsset: true } }
  const body = logo && Buffer.from(logo.bytes)
  const etag = body && `"${createHash('sha256').update(body).digest('base64url')}"`
  routesOf(app).get('/console/logo', asset, (request, reply) => {
    if (!logo || !etag) throw new Problem('not-found', 'The repository has no logo of its own.')
    reply.header('cache-control', 'no-cache').header('etag', etag)
    return precondition(request.headers, etag) === 304
      ? reply.code(304).send()
      : reply.header('content-security-policy', logoPolicy).type(logo.type).send(body)
  })
}

/** Makes the page with paths of the configured base URL, so that the console works below any path (CO1). */
function pageOf({ page }: Built, config: Parts['config']) {
  const { basePath, csrfHeader, look, queryBase } = config
  const html = page
    .replaceAll('{name}', () => escapeHtml(look.name))
    .replaceAll('{color}', look.color ?? '')
    .replaceAll('{logo}', look.logo ? 'logo' : '')
    .replace(/<link rel="icon"[^>]*>/, icon => (look.logo ? '<link rel="icon" href="logo">' : icon))
    .replaceAll('{base}', escapeHtml(`${basePath}/console/`))
    .replaceAll('{query}', escapeHtml(queryBase))
    .replaceAll('{csrf}', escapeHtml(csrfHeader))
    .replaceAll('{providers}', () => escapeHtml(JSON.stringify(providerNames(config))))
  return { html, etag: `"${createHash('sha256').update(html).digest('base64url')}"` }
}

/** True for browsers, which name HTML; programs name nothing, or JSON. */
const acceptsPage = ({ headers }: FastifyRequest) => /\btext\/html\b/i.test(headers.accept ?? '')

/**
 * Lists the providers' names by scheme for the login form, because `WWW-Authenticate` has the schemes alone.
 */
function providerNames({ singleSignOn }: Pick<Config, 'singleSignOn'>): Readonly<Record<string, string[]>> {
  const names = new Map<string, string[]>()
  for (const { scheme, name } of singleSignOn?.providers ?? [])
    names.set(scheme, [...(names.get(scheme) ?? []), name])
  return Object.fromEntries(names)
}

/** The output of `console/build.js`: one page, and files whose names change with their contents. */
interface Built {
  /** The page, with `{base}` in place of the path of the console. */
  readonly page: string
  readonly assets: FilesIn
  /** The modules of `@carrel/client`. */
  readonly modules: FilesIn
}

/** @returns undefined if there is no such file */
type FilesIn = (name: string, accepted: readonly Encoding[]) => Promise<Asset | undefined>

interface Asset {
  readonly body: Buffer
  readonly type: string
  readonly encoding: Encoding | undefined
}

/** Encodings, the smallest first. */
const encodings = ['br', 'gzip'] as const
type Encoding = (typeof encodings)[number]

const suffixes: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' }

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
}

/** The folder is beside `src` in a checkout, and beside `dist` in the package. */
export const builtFolder: string = join(root, 'console/dist')

/** @returns undefined if the console was not built */
export function readBuilt(folder: string): Built | undefined {
  try {
    return {
      page: readFileSync(join(folder, 'index.html'), 'utf8'),
      assets: filesIn(join(folder, 'assets')),
      modules: filesIn(join(folder, 'client')),
    }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function filesIn(folder: string): FilesIn {
  const names: ReadonlySet<string> = new Set(readdirSync(folder))
  // A name that wasn't listed is never opened, so that no name leads out of the folder.
  return async (name, accepted) => {
    const type = types[extname(name)]
    if (type === undefined || !names.has(name)) return undefined
    const encoding = accepted.find(one => names.has(name + suffixes[one]))
    const file = encoding === undefined ? name : name + suffixes[encoding]
    // The file is gone if the console is built while the service runs: the page that named it is out of date.
    const body = await unlessMissing(readFile(join(folder, file)))
    return body && { body, type, encoding }
  }
}
